"""The command ``kvarium capacity``: how many blocks, tokens and requests fit, without loading a model, and without torch."""

import json
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from kvarium_engine.capacity import GIB, Capacity
from kvarium_engine.card_memory import GPU_MEMORY_UTILIZATION, CardUse, kv_cache_bytes
from kvarium_engine.errors import UsageError
from kvarium_engine.model.choice import ModelChoice, check_dtypes, dtypes
from kvarium_engine.model.geometry import KV_DTYPE_BYTES, read_config
from kvarium_engine.model.store import find_config, name_of
from kvarium_engine.model.weights import weight_bytes
from kvarium_engine.options import Options, check_sizes
from kvarium_engine.pool_size import KV_CACHE_MEMORY_BYTES, size_for_model
from kvarium_engine.sizes import parse_size, size


@dataclass(slots=True)
class Asked:
    """What the sum is asked for; sizes in GiB as they were given."""

    model: str
    dtype: str = "auto"
    kv_cache_dtype: str = "auto"
    block_size: int = 16
    max_model_len: int | None = None
    num_blocks: int | None = None
    kv_cache_memory_bytes: int | None = None
    gpu_memory: float | None = None
    gpu_memory_utilization: float | None = None
    weights_gib: float | None = None
    activations_gib: float | None = None


@dataclass(frozen=True, slots=True)
class CapacitySum:
    """The sum, and what it is made of. ``use`` and ``utilization``: of the card, where one is given."""

    model: ModelChoice
    pool: Capacity
    weights: int
    weights_from: str
    sized_by: str
    use: CardUse | None = None
    utilization: float | None = None

    def facts(self) -> dict[str, Any]:
        """All of it by name, for scripts."""
        geometry, pool = self.model.geometry, self.pool
        return {
            "model": self.model.name,
            "dtype": self.model.dtype,
            "kv_cache_dtype": self.model.kv_dtype,
            "layers": geometry.layers,
            "kv_heads": geometry.kv_heads,
            "head_dim": geometry.head_dim,
            "max_position_embeddings": geometry.max_position_embeddings,
            "max_model_len": pool.max_model_len,
            "block_size": pool.block_size,
            "kv_cache_bytes_per_token": pool.bytes_per_token,
            "kv_cache_bytes_per_block": pool.bytes_per_block,
            "sized_by": self.sized_by,
            "gpu_memory_bytes": self.use and self.use.total,
            "gpu_memory_utilization": self.utilization,
            "weights_bytes": self.weights,
            "weights_from": self.weights_from,
            "activations_bytes": self.use and self.use.step,
            "kv_cache_bytes": pool.bytes,
            "num_gpu_blocks": pool.num_blocks,
            "kv_cache_tokens": pool.tokens,
            "maximum_concurrency": round(pool.maximum_concurrency, 2),
            "copy_on_write_bytes": pool.bytes_per_block,
            "contiguous_bytes_per_request": pool.contiguous_bytes,
            "contiguous_requests": pool.contiguous_requests,
        }

    def table(self) -> str:
        """All of it for a person."""
        geometry, pool = self.model.geometry, self.pool
        number = self.model.kv_dtype
        longest = geometry.max_position_embeddings
        formula = (
            f"2 (K, V) × {geometry.layers} layers × {geometry.kv_heads} KV heads × head_dim {geometry.head_dim} × "
            f"{KV_DTYPE_BYTES[number]} bytes ({number})"
        )
        room = self.sized_by
        if self.use is not None and self.utilization is not None:
            room += f": {self.use.told(self.utilization)}"
            if not self.use.step:
                room += "; activations are not counted: an engine measures them, --activations-gib gives them"
        of = f" of {longest:,} positions" if pool.max_model_len < longest else ""
        reserved = f"{size(pool.contiguous_bytes)} reserved for each request, used or not"
        rows = (
            ("a token", f"{size(pool.bytes_per_token)} = {formula}"),
            (
                f"a block of {pool.block_size}",
                f"{size(pool.bytes_per_block)}: what one copy-on-write copies, however long the shared prompt",
            ),
            ("weights", f"{size(self.weights)} of {self.model.dtype} ({self.weights_from})"),
            ("keys and values", f"{size(pool.bytes)} ({room})"),
            ("blocks", f"{pool.num_blocks:,}"),
            ("tokens", f"{pool.tokens:,}"),
            ("max_model_len", f"{pool.max_model_len:,}{of}"),
            ("paged", pool.lines()[1]),
            ("contiguous", f"{reserved}: {pool.contiguous_requests:,} fit"),
        )
        width = max(len(name) for name, _ in rows)
        return "\n".join([self.model.name, *(f"  {name:<{width}}  {text}" for name, text in rows)])


def capacity_of(asked: Asked) -> CapacitySum:
    """Do the sum. Raises :class:`UsageError` in one line."""
    check_dtypes(asked.dtype, asked.kv_cache_dtype)
    options = Options(
        block_size=asked.block_size,
        max_model_len=asked.max_model_len,
        num_blocks=asked.num_blocks,
        kv_cache_memory_bytes=asked.kv_cache_memory_bytes,
        gpu_memory_utilization=asked.gpu_memory_utilization,
    )
    check_sizes(options)
    _check_card(asked)
    path = find_config(asked.model)
    config, geometry = read_config(path)
    refuse_other_caches(config, asked.model)
    dtype, kv_dtype = dtypes(geometry, asked.dtype, asked.kv_cache_dtype)
    model = ModelChoice(
        name=name_of(asked.model, path),
        config=path,
        geometry=geometry,
        dtype=dtype,
        kv_dtype=kv_dtype,
    )
    weights, weights_from = weight_bytes(config, geometry, path.parent, model.dtype)
    if asked.weights_gib is not None:
        weights, weights_from = round(asked.weights_gib * GIB), "as given"
    use, memory = None, None
    if asked.gpu_memory is not None:
        total = round(asked.gpu_memory * GIB)
        use = CardUse(total, total, weights, round((asked.activations_gib or 0) * GIB))
        options.gpu_memory_utilization = asked.gpu_memory_utilization or GPU_MEMORY_UTILIZATION
        memory = kv_cache_bytes(use, options.gpu_memory_utilization)
        sized_by = "what the card has left"
    elif asked.num_blocks is not None:
        sized_by = "--num-gpu-blocks-override"
    elif asked.kv_cache_memory_bytes is not None:
        sized_by = "--kv-cache-memory-bytes"
    else:
        sized_by = f"{KV_CACHE_MEMORY_BYTES / GIB:g} GiB, as an engine without a card takes"
    blocks, max_model_len = size_for_model(options, model, memory)
    pool = Capacity(blocks, asked.block_size, model.kv_bytes_per_token, max_model_len)
    return CapacitySum(model, pool, weights, weights_from, sized_by, use, options.gpu_memory_utilization)


def refuse_other_caches(config: dict[str, Any], model: str) -> None:
    """Raises :class:`UsageError` for a model that keeps something else than keys and values of each token in each layer."""
    why = None
    if config.get("kv_lora_rank"):
        why = "it keeps a compressed latent (kv_lora_rank), not keys and values"
    elif config.get("is_encoder_decoder"):
        why = "it is no decoder alone"
    else:
        kinds = config.get("layer_types")
        others = {
            str(kind)
            for kind in (kinds if isinstance(kinds, list) else ())
            if kind not in ("full_attention", "sliding_attention")
        }
        if others:
            why = f"it has layers of another kind: {', '.join(sorted(others))}"
    if why is not None:
        raise UsageError(f"the sum does not hold for {model}: {why}")


def _check_card(asked: Asked) -> None:
    for option, value in (
        ("--gpu-memory", asked.gpu_memory),
        ("--weights-gib", asked.weights_gib),
        ("--activations-gib", asked.activations_gib),
    ):
        if value is not None and not 0 <= value < 1 << 20:
            raise UsageError(f"{option} must be a number of GiB, from 0 to {1 << 20:,}, not {value}")
    if asked.gpu_memory is None:
        for option, value in (
            ("--gpu-memory-utilization", asked.gpu_memory_utilization),
            ("--activations-gib", asked.activations_gib),
        ):
            if value is not None:
                raise UsageError(f"{option} is of a card: give its memory with --gpu-memory GIB")
        return
    for option, number in (
        ("--num-gpu-blocks-override", asked.num_blocks),
        ("--kv-cache-memory-bytes", asked.kv_cache_memory_bytes),
    ):
        if number is not None:
            raise UsageError(f"--gpu-memory and {option} both size the pool: give one")


def register(app: typer.Typer) -> None:
    """Add the command to a command line."""
    app.command("capacity", help="How many blocks, tokens and requests fit; nothing is loaded.")(capacity)


def capacity(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A name that `kvarium models ls` lists, a model's folder, a config.json, or an id of the hub (org/name).",
        ),
    ],
    dtype: Annotated[
        str, typer.Option(help="auto (as the weights are stored), float32, bfloat16 or float16.")
    ] = "auto",
    kv_cache_dtype: Annotated[
        str, typer.Option(help="auto (the model's), or fp8 (fp8_e4m3): one byte a number.")
    ] = "auto",
    block_size: Annotated[int, typer.Option(help="Tokens a block: a power of two from 1 to 256.")] = 16,
    max_model_len: Annotated[
        int | None,
        typer.Option(
            help="Tokens of a sequence, prompt included; default: the model's, or the pool's if fewer."
        ),
    ] = None,
    gpu_memory: Annotated[
        float | None,
        typer.Option(metavar="GIB", help="Size the pool by what a card of so many GiB has left."),
    ] = None,
    gpu_memory_utilization: Annotated[
        float | None,
        typer.Option(
            help="Share of the card for the whole engine, weights and activations included; default 0.9."
        ),
    ] = None,
    weights_gib: Annotated[
        float | None, typer.Option(metavar="GIB", help="The weights' size, where you know it better.")
    ] = None,
    activations_gib: Annotated[
        float | None,
        typer.Option(
            metavar="GIB",
            help="Peak of the largest step and all else that is no weight; an engine measures it.",
        ),
    ] = None,
    kv_cache_memory_bytes: Annotated[
        int | None,
        typer.Option(
            parser=parse_size,
            metavar="SIZE",
            help="Size the pool by bytes of keys and values: 4G, 512MiB or a plain number; default 1 GiB.",
        ),
    ] = None,
    num_gpu_blocks_override: Annotated[int | None, typer.Option(help="Size the pool by its blocks.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")] = False,
) -> None:
    """Print what fits."""
    try:
        found = capacity_of(
            Asked(
                model=model,
                dtype=dtype,
                kv_cache_dtype=kv_cache_dtype,
                block_size=block_size,
                max_model_len=max_model_len,
                num_blocks=num_gpu_blocks_override,
                kv_cache_memory_bytes=kv_cache_memory_bytes,
                gpu_memory=gpu_memory,
                gpu_memory_utilization=gpu_memory_utilization,
                weights_gib=weights_gib,
                activations_gib=activations_gib,
            )
        )
    except UsageError as error:
        print(f"kvarium capacity: {error}", file=sys.stderr, flush=True)
        raise typer.Exit(2) from None
    print(json.dumps(found.facts()) if as_json else found.table(), flush=True)
