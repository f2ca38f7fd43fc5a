"""The commands ``kvarium kernels …``: list the Triton kernels, compile them for cards that need not be here."""

import contextlib
import importlib.util
import json
import re
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Annotated

import typer

from kvarium_engine.errors import UsageError
from kvarium_engine.kernels.variants import ARCHS, Variant, all_variants

SETS = ("single", "pairs", "all")
SINGLE = 30
"""How many are compiled so that each value of each setting is, once at least."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]


def register(app: typer.Typer) -> None:
    """Add the commands to a command line."""
    group = typer.Typer(help="The Triton kernels of the engine.", no_args_is_help=True, rich_markup_mode=None)
    group.command("compile")(compile_kernels)
    group.command("ls")(ls)
    app.add_typer(group, name="kernels")


def ls(as_json: Json = False) -> None:
    """List the kernels and what each can be compiled as."""

    def body() -> None:
        variants = _variants()
        kernels: dict[str, dict[str, list[object]]] = {}
        counts: dict[str, int] = {}
        for variant in variants:
            counts[variant.kernel] = counts.get(variant.kernel, 0) + len(variant.archs)
            values = kernels.setdefault(variant.kernel, {})
            for name, value in [
                *variant.settings.items(),
                *(("arch", f"sm_{arch}") for arch in variant.archs),
            ]:
                if value not in values.setdefault(name, []):
                    values[name].append(value)
        if as_json:
            told = [
                {"kernel": name, "binaries": counts[name], "settings": values}
                for name, values in kernels.items()
            ]
            print(json.dumps({"kernels": told}), flush=True)
            return
        for kernel, settings in kernels.items():
            print(f"{kernel}: {counts[kernel]:,} binaries")
            for name, found in settings.items():
                print(f"    {name:<12} {', '.join(map(str, found))}")

    _guarded(body)


def compile_kernels(
    which: Annotated[
        str | None,
        typer.Option(
            "--set",
            help=f"single: {SINGLE}, in which each value of each setting comes (the default); pairs: each pair of values; "
            "all: every one.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="The same as --set all.")] = False,
    arch: Annotated[
        list[str] | None, typer.Option(help="Only for sm_80, sm_90 or sm_100; may be repeated.")
    ] = None,
    kernel: Annotated[
        list[str] | None, typer.Option(help="Only this one, see `kvarium kernels ls`; may be repeated.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option("--jobs", help="Compile so many at once; by default one a core.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compile the kernels for sm_80, sm_90 and sm_100, and tell registers and spills. No card is needed.

    One that fails keeps no other from being compiled; Ctrl-C ends it early, and what was compiled until then is told.
    """

    def body() -> None:
        if every and which not in (None, "all"):
            raise UsageError(f"--all and --set {which} can't both hold: leave one of them out")
        _compile("all" if every else which or "single", arch or [], kernel or [], processes, as_json)

    _guarded(body)


def _compile(
    which: str, asked_archs: list[str], asked_kernels: list[str], processes: int | None, as_json: bool
) -> None:
    if which not in SETS:
        raise UsageError(f"--set is {', '.join(SETS)}, not {which!r}")
    if processes is not None and processes < 1:
        raise UsageError(f"--jobs is at least 1, not {processes}")
    archs = [_arch(name) for name in asked_archs] or list(ARCHS)
    variants = _variants()
    from kvarium_engine.kernels.compilation import Binary, compiled, jobs, usable_cores
    from kvarium_engine.kernels.covering import covering
    from kvarium_engine.kernels.report import report, summary
    from kvarium_engine.progress import progress

    known = sorted({variant.kernel for variant in variants})
    for name in asked_kernels:
        if name not in known:
            raise UsageError(f"--kernel is {', '.join(known)}, not {name!r}")
    work = jobs([each for each in variants if each.kernel in (asked_kernels or known)], archs)
    if which != "all":
        # A value of one kernel's setting is not that of another's.
        settings = [
            {f"{job.variant.kernel} {name}": value for name, value in job.settings.items()} for job in work
        ]
        work = [work[place] for place in covering(settings, SINGLE if which == "single" else None)]
    found: dict[int, Binary] = {}
    stopped = False
    try:
        with (
            progress(f"compiling {len(work):,} binaries", len(work)) as tell,
            contextlib.closing(compiled(work, processes or usable_cores())) as each_done,
        ):
            for place, binary in each_done:
                found[place] = binary
                tell(len(found), f"compiled {len(found):,} of {len(work):,} binaries")
    except KeyboardInterrupt:
        stopped = True
    binaries = [found[place] for place in sorted(found)]
    failed = [binary for binary in binaries if binary.error is not None]
    if as_json:
        print(json.dumps(summary(which, len(work), binaries)), flush=True)
    else:
        report(binaries)
    for binary in failed:
        print(f"kvarium kernels: {binary.job.title}: {binary.error}", file=sys.stderr, flush=True)
    if stopped:
        print(
            f"kvarium kernels: stopped: {len(found):,} of {len(work):,} binaries are told, nothing else is left of it",
            file=sys.stderr,
            flush=True,
        )
        raise typer.Exit(130)
    if failed:
        raise typer.Exit(1)


def _arch(name: str) -> int:
    found = re.fullmatch(r"(?:sm_)?([0-9]{1,3})", name)
    if found is None or int(found[1]) not in ARCHS:
        raise UsageError(f"--arch is {', '.join(f'sm_{arch}' for arch in ARCHS)}, not {name!r}")
    return int(found[1])


def _variants() -> list[Variant]:
    """All variants; raises :class:`UsageError` where there is no Triton."""
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"the kernels need {' and '.join(missing)}, not installed here: pip install 'kvarium[engine]' (triton: on Linux, x86-64)"
        )
    return all_variants()


def _guarded(body: Callable[[], None]) -> None:
    """What goes wrong is one line on standard error and an exit status: 2 is a wrong option, or no Triton."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        body()
    except UsageError as error:
        print(f"kvarium kernels: {error}", file=sys.stderr, flush=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        print("kvarium kernels: stopped, nothing is left of it", file=sys.stderr, flush=True)
        raise typer.Exit(130) from None
