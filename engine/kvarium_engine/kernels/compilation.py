"""Compile the Triton kernels ahead of time, for cards that need not be here, and tell what became of each.

    variant × arch ──▶ a process: triton.compile ──▶ PTX ──▶ ptxas -v ──▶ cubin, registers, spills, shared memory
                       as many as there are cores, or --jobs; what Triton and ptxas write goes to a folder that is gone at the end

A binary that spills works, but goes to memory for what should be a register; one that asks for more shared memory than a block of threads
can have never starts, so it counts as a failure.
"""

import contextlib
import io
import multiprocessing
import os
import re
import signal
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, NamedTuple

from kvarium_engine.kernels.variants import LAUNCH, Setting, Variant, kernels

SHARED_MEMORY = {80: 163 << 10, 90: 227 << 10, 100: 227 << 10}
"""Bytes of shared memory that a block of threads can have, by compute capability (CUDA's programming guide)."""

_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


class Job(NamedTuple):
    """A variant, to be compiled for a compute capability (90 is sm_90)."""

    variant: Variant
    arch: int

    @property
    def settings(self) -> dict[str, Setting]:
        """What it is compiled with."""
        return {**self.variant.settings, "arch": f"sm_{self.arch}"}

    @property
    def title(self) -> str:
        """Its name for a person."""
        return (
            f"{self.variant.kernel} ({', '.join(f'{name} {value}' for name, value in self.settings.items())})"
        )


@dataclass(frozen=True, slots=True)
class Binary:
    """What became of a job: bytes of spills are those of a thread, of shared memory those of a block of threads.

    ``error`` is None where it was compiled, else why not, in one line; the numbers are 0 then.
    """

    job: Job
    seconds: float
    registers: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared_bytes: int = 0
    cubin_bytes: int = 0
    error: str | None = None

    def facts(self) -> dict[str, object]:
        """The same for JSON."""
        return {
            "kernel": self.job.variant.kernel,
            **self.job.settings,
            "num_warps": self.job.variant.num_warps,
            "num_stages": self.job.variant.num_stages,
            "registers": self.registers,
            "spill_store_bytes": self.spill_stores,
            "spill_load_bytes": self.spill_loads,
            "shared_bytes": self.shared_bytes,
            "cubin_bytes": self.cubin_bytes,
            "seconds": round(self.seconds, 2),
            "error": self.error,
        }


def jobs(variants: Sequence[Variant], archs: Sequence[int]) -> list[Job]:
    """Each variant for each of the architectures that it is for."""
    return [Job(variant, arch) for variant in variants for arch in variant.archs if arch in archs]


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compiled(work: Sequence[Job], processes: int) -> Generator[tuple[int, Binary]]:
    """Compile ``work`` in so many ``processes`` at most; gives each as it is done, with its place in ``work``.

    Closed early, it leaves nothing behind either: what is being compiled then is waited for, a few seconds.
    """
    with tempfile.TemporaryDirectory(prefix="kvarium-kernels-") as folder:
        left = dict(enumerate(work))
        # A compiler that crashes takes the processes beside it along: what was not done then is done one by one.
        for place, binary in _in_processes(dict(left), processes, folder):
            del left[place]
            yield place, binary
        for place, job in left.items():
            alone = list(_in_processes({place: job}, 1, folder))
            yield alone[0] if alone else (place, Binary(job, 0.0, error="the compiler crashed"))


def _in_processes(work: Mapping[int, Job], processes: int, folder: str) -> Iterator[tuple[int, Binary]]:
    """Compile in so many processes at most; it ends early where one of them crashes."""
    pool = ProcessPoolExecutor(
        max(1, min(processes, len(work))),
        multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(folder,),
    )
    try:
        with contextlib.suppress(BrokenProcessPool):
            futures = {pool.submit(compile_job, job): place for place, job in work.items()}
            for future in as_completed(futures):
                yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(folder: str) -> None:
    """In a process of its own: where Triton keeps what it makes, and that it compiles and tells what ptxas said."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process is told, and ends the others
    os.environ.pop("TRITON_INTERPRET", None)
    os.environ |= {"TRITON_CACHE_DIR": folder, "TRITON_DUMP_PTXAS_LOG": "1", "TMPDIR": folder}
    tempfile.tempdir = folder


def compile_job(job: Job) -> Binary:
    """Compile one; whatever goes wrong is its ``error``."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    variant, began, said = job.variant, time.monotonic(), io.StringIO()
    function: Any = kernels()[variant.kernel]
    names: list[str] = function.arg_names
    pointers = [names.index(name) for name, kind in variant.signature.items() if kind.startswith("*")]
    source = {name: variant.signature.get(name, "constexpr") for name in names}
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            kernel = triton.compile(
                ASTSource(
                    function,
                    source,
                    dict(variant.constexprs),
                    {(place,): [["tt.divisibility", 16]] for place in pointers},
                ),
                target=GPUTarget("cuda", job.arch, 32),
                options={"num_warps": variant.num_warps, "num_stages": variant.num_stages, **LAUNCH},
            )
        log = said.getvalue()
        registers, spills = _REGISTERS.search(log), _SPILLS.search(log)
        assert registers is not None and spills is not None, f"ptxas told no registers: {log[:200]!r}"
        shared = int(kernel.metadata.shared)
        error = None
        if shared > SHARED_MEMORY[job.arch]:
            error = (
                f"it needs {shared:,} bytes of shared memory, sm_{job.arch} has {SHARED_MEMORY[job.arch]:,}"
            )
        return Binary(
            job,
            time.monotonic() - began,
            int(registers[1]),
            int(spills[1]),
            int(spills[2]),
            shared,
            len(kernel.asm["cubin"]),
            error,
        )
    except Exception as error:  # whatever a compiler may raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return Binary(
            job, time.monotonic() - began, error=f"{type(error).__name__}: {' / '.join(lines[-3:])}"[:500]
        )
