"""The command ``kvarium engine``: it joins the server's command line by the entry point ``kvarium.commands``."""

import os
from pathlib import Path
from typing import Annotated

import typer

from kvarium_engine.options import Options
from kvarium_engine.scheduling.config import PRIORITY_AGING
from kvarium_engine.sizes import parse_size

TOKEN_VARIABLE = "KVARIUM_ENGINE_TOKEN"
"""Where the token for the backend is read from: an argument would be seen by all users of a machine."""


def register(app: typer.Typer) -> None:
    """Add the engine's commands to a command line."""
    app.command("engine", help="Run the paged engine; it connects to a backend and records there.")(engine)


def engine(
    connect: Annotated[
        str | None,
        typer.Option(
            help=f"Backend, ws://HOST:PORT/api/engine; the token is in ${TOKEN_VARIABLE}. It is tried for 20 s. "
            "Without: nothing is recorded."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The model to run: a name that `kvarium models ls` lists, a folder in transformers' layout, or an id of the "
            "Hugging Face hub (org/name)."
        ),
    ] = None,
    runner: Annotated[
        str | None,
        typer.Option(
            help="torch runs the --model; null: no model, seeded tokens. Default: torch with a --model."
        ),
    ] = None,
    dtype: Annotated[
        str, typer.Option(help="auto (as the weights are stored), float32, bfloat16 or float16.")
    ] = "auto",
    kv_cache_dtype: Annotated[
        str,
        typer.Option(
            help="Of keys and values: auto (the model's), or fp8 (fp8_e4m3), a byte a number, with the checkpoint's scales."
        ),
    ] = "auto",
    load_format: Annotated[
        str, typer.Option(help="auto: the weights that are there; dummy: random ones, from a config alone.")
    ] = "auto",
    attention_backend: Annotated[
        str,
        typer.Option(
            help="The kernels: triton, torch, or auto: triton on CUDA, torch elsewhere. Triton on a CPU: only interpreted, with "
            "TRITON_INTERPRET=1, to check it."
        ),
    ] = "auto",
    trace: Annotated[
        Path | None, typer.Option(help="Requests from a trace (JSON lines, Mooncake's format).")
    ] = None,
    speed: Annotated[
        float, typer.Option(help="Of the trace: 1 as stamped, 2 twice as fast, 0 as fast as possible.")
    ] = 1.0,
    mix: Annotated[
        bool | None,
        typer.Option(
            "--mix/--no-mix",
            help="Feed the seeded mix of requests; the null runner's default where nothing else feeds it.",
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Feed the conversations of the demo; they leave room for prompts.")
    ] = False,
    num_gpu_blocks_override: Annotated[
        int | None,
        typer.Option(
            help="Blocks of the pool. Default: of a model as many as --kv-cache-memory-bytes hold; of a trace twice "
            "its longest request; else 512."
        ),
    ] = None,
    kv_cache_memory_bytes: Annotated[
        int | None,
        typer.Option(
            parser=parse_size,
            metavar="SIZE",
            help="Memory for keys and values, instead of a number of blocks: 4G, 512MiB (powers of 1,024) or a plain number "
            "of bytes; default without a card: 1 GiB.",
        ),
    ] = None,
    gpu_memory_utilization: Annotated[
        float | None,
        typer.Option(
            help="Share of the card's memory for the whole engine, weights and activations included; what remains holds "
            "keys and values. Default 0.9."
        ),
    ] = None,
    enforce_eager: Annotated[
        bool,
        typer.Option(
            "--enforce-eager", help="Record no CUDA graphs: on a card, decodes are launched kernel by kernel."
        ),
    ] = False,
    cudagraph_capture_sizes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help="Batch sizes of decodes that are recorded as CUDA graphs, as 1,2,4,8; a smaller batch is padded. Default: 1, 2, "
            "4, then each 8 to 256 and each 16 to 512, up to --max-num-seqs.",
        ),
    ] = None,
    block_size: Annotated[int, typer.Option(help="Tokens a block: a power of two from 1 to 256.")] = 16,
    max_num_batched_tokens: Annotated[
        int | None, typer.Option(help="Tokens a step. Default: 2048, or --max-num-seqs where that is more.")
    ] = None,
    max_num_seqs: Annotated[
        int | None,
        typer.Option(
            help="Sequences that run at once. Default: 256, or --max-num-batched-tokens where that is less."
        ),
    ] = None,
    max_model_len: Annotated[
        int | None,
        typer.Option(
            help="Tokens of a sequence, prompt included. Default: the model's positions, but no more than the pool holds."
        ),
    ] = None,
    enable_prefix_caching: Annotated[
        bool | None,
        typer.Option(
            "--enable-prefix-caching/--no-enable-prefix-caching",
            help="Share the blocks of equal prefixes. Default: with paged memory; contiguous memory can't.",
        ),
    ] = None,
    free_order: Annotated[str, typer.Option(help="lru, or unhashed-first as vLLM does.")] = "lru",
    memory_backend: Annotated[
        str,
        typer.Option(
            help="paged, or contiguous: the baseline that reserves one run of blocks for each sequence."
        ),
    ] = "paged",
    reserve: Annotated[
        str | None,
        typer.Option(
            help="Of contiguous memory, for each sequence: max (--max-model-len tokens, the default), power-of-two (the "
            "prompt, and max_tokens rounded up to one) or exact (the prompt and max_tokens)."
        ),
    ] = None,
    scheduling_policy: Annotated[
        str, typer.Option(help="fcfs, or priority (a lower number goes first).")
    ] = "fcfs",
    priority_aging: Annotated[
        int | None,
        typer.Option(
            help="By priority: so many steps of waiting make up for one level, so that nobody waits for ever. 0: off, as in "
            f"vLLM. Default {PRIORITY_AGING}."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the mix and of the sampled tokens.")] = 0,
    steps: Annotated[
        int | None, typer.Option(help="End after so many steps; one more may record the end.")
    ] = None,
    duration: Annotated[float | None, typer.Option(help="End after so many seconds.")] = None,
    lossless: Annotated[
        bool | None,
        typer.Option(
            "--lossless/--no-lossless",
            help="Wait for the backend rather than lose records; default: when nothing is paced.",
        ),
    ] = None,
    allow_control: Annotated[
        bool | None,
        typer.Option(
            "--allow-control/--no-allow-control",
            help="May viewers hold and step it? Default: when the backend is on this machine.",
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="Of the session.")] = "",
    audit_interval: Annotated[
        int, typer.Option(help="Steps between two audits; 0: as few as cost under 1 %.")
    ] = 0,
    step_ms: Annotated[
        float | None,
        typer.Option(
            help="Time that a step of the null runner pretends to take; default 20, and 0 for a trace at speed 0."
        ),
    ] = None,
    record_text: Annotated[
        str | None,
        typer.Option(
            help="full; hash: no text and no token leaves the engine, only which prompts and blocks are the same; or none: not "
            "that of prompts either. Names of requests are always told. Default: full, and hash where the backend is on another machine."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
    stand_by: Annotated[
        int | None,
        typer.Option(
            hidden=True,
            help="Of a server, before it starts: check the options, then wait for an address; the file of its errors.",
        ),
    ] = None,
) -> None:
    """Run the paged engine until its trace, its steps or its time end, or it is stopped."""
    from kvarium_engine import process

    options = Options(
        connect=connect,
        token=os.environ.get(TOKEN_VARIABLE, ""),
        runner=runner,
        model=model,
        dtype=dtype,
        kv_cache_dtype=kv_cache_dtype,
        load_format=load_format,
        attention_backend=attention_backend,
        trace=trace,
        speed=speed,
        mix=mix,
        demo=demo,
        num_blocks=num_gpu_blocks_override,
        kv_cache_memory_bytes=kv_cache_memory_bytes,
        gpu_memory_utilization=gpu_memory_utilization,
        enforce_eager=enforce_eager,
        cudagraph_capture_sizes=cudagraph_capture_sizes,
        block_size=block_size,
        max_num_batched_tokens=max_num_batched_tokens,
        max_num_seqs=max_num_seqs,
        max_model_len=max_model_len,
        enable_prefix_caching=enable_prefix_caching,
        free_order=free_order,
        memory_backend=memory_backend,
        reserve=reserve,
        scheduling_policy=scheduling_policy,
        priority_aging=priority_aging,
        seed=seed,
        steps=steps,
        duration=duration,
        lossless=lossless,
        allow_control=allow_control,
        name=name,
        audit_interval=audit_interval,
        step_ms=step_ms,
        record_text=record_text,
        json=json,
    )
    raise typer.Exit(process.run(options) if stand_by is None else process.stand_by(options, stand_by))
