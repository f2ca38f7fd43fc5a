"""`kvarium demo`: which engine it starts, what it says where that can't be, and that it fetches a model that is missing."""

import importlib.util
import signal
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from kvarium import demo
from kvarium.cli import main
from kvarium.demo import ExtraMissingError, engine_options
from kvarium.launch import option_of


class _Check:
    """An engine's check of its options that is over already."""

    def __init__(self, status: int, told: str) -> None:
        self._outcome = status, told

    def wait(self) -> tuple[int, str]:
        return self._outcome


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of packages that seem to be installed, all that a model needs at first."""
    names = {"torch", "transformers", "safetensors"}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: ModuleSpec(name, None) if name in names else None
    )
    return names


def test_a_model_runs_the_conversations_on_a_small_pool(installed: set[str]) -> None:
    options = engine_options(["--seed", "3"], "torch", "smollm2-135m")
    assert options[:5] == ["--runner", "torch", "--model", "smollm2-135m", "--demo"]
    assert options[-2:] == ["--seed", "3"]
    assert option_of(options, "--num-gpu-blocks-override") == "96"
    assert option_of(options, "--max-num-seqs") == "16"


@pytest.mark.parametrize(
    ("given", "gone"),
    [
        (["--num-gpu-blocks-override", "40"], "96"),
        (["--num-gpu-blocks-override=40"], "96"),
        (["--kv-cache-memory-bytes", "1000000000"], "96"),
        (["--kv-cache-memory-bytes=4GiB"], "96"),
        (["--max-num-seqs=64"], "16"),
        (["--max-num-seqs", "256"], "128"),
        (["--max-num-batched-tokens", "512"], "128"),
    ],
)
def test_what_is_given_prevails(installed: set[str], given: list[str], gone: str) -> None:
    options = engine_options(given, "torch", "m")
    assert options[-len(given) :] == given
    assert gone not in options


def test_another_runner_gets_what_it_was_given_and_needs_no_torch(installed: set[str]) -> None:
    installed.clear()
    assert engine_options(["--seed", "3"], "null", "m") == ["--runner", "null", "--seed", "3"]


@pytest.mark.parametrize("package", ["torch", "transformers", "safetensors"])
def test_a_package_that_is_missing_is_named_with_what_to_do(
    installed: set[str], package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed.remove(package)
    with pytest.raises(ExtraMissingError):
        engine_options([], "torch", "m")
    monkeypatch.setattr(sys, "argv", ["kvarium", "demo", "--no-browser"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        f"kvarium: {package} is not installed here, and a model needs it: pip install 'kvarium[engine]'; "
        "without a model: kvarium demo --runner null\n"
    )


@pytest.mark.parametrize(
    ("status", "told"),
    [(0, ""), (2, "kvarium demo: --seed must be at most …"), (2, "`kvarium models fetch other` fetches it")],
)
def test_only_a_model_that_is_missing_is_fetched(
    monkeypatch: pytest.MonkeyPatch, status: int, told: str
) -> None:
    monkeypatch.setattr(demo, "_fetch", lambda model: pytest.fail("fetched"))
    assert demo.fetch_if_missing(["--model", "m"], _Check(status, told)) is False  # type: ignore[arg-type]


def test_a_fetch_that_fails_ends_the_demo_with_its_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = _Check(2, "the model m is not here yet: `kvarium models fetch m` fetches it")
    monkeypatch.setattr(demo, "_fetch", lambda model: 0)
    assert demo.fetch_if_missing(["--model", "m"], check) is True  # type: ignore[arg-type]
    assert "the model m is not here yet" in capsys.readouterr().out
    monkeypatch.setattr(demo, "_fetch", lambda model: 5)
    with pytest.raises(SystemExit) as ended:
        demo.fetch_if_missing(["--model", "m"], check)  # type: ignore[arg-type]
    assert ended.value.code == 5


def test_ctrl_c_ends_a_fetch_and_waits_until_it_has_tidied_up(tmp_path: Path) -> None:
    """It reaches the demo alone, as from a terminal: the fetch is in a session of its own."""
    fetching = tmp_path / "fetching.py"
    fetching.write_text(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: (time.sleep(0.3), print('tidied up', flush=True), sys.exit(130)))\n"
        "print('fetching', flush=True)\n"
        "time.sleep(60)\n"
    )
    script = tmp_path / "demo.py"
    script.write_text(
        "import subprocess, sys\n"
        "from kvarium import demo\n"
        "class Fetch(subprocess.Popen):\n"
        "    def __init__(self, command, **more):\n"
        "        self.told = False\n"
        f"        super().__init__([sys.executable, {str(fetching)!r}], **more)\n"
        "    def wait(self):\n"
        "        if not self.told:\n"
        "            self.told = True\n"
        "            print('waiting', flush=True)\n"
        "        return super().wait()\n"
        "demo.subprocess.Popen = Fetch\n"
        "sys.exit(demo._fetch('m'))\n"
    )
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert {process.stdout.readline(), process.stdout.readline()} == {"fetching\n", "waiting\n"}
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "tidied up\n"
    assert process.wait(60) == 130


def test_the_last_value_of_an_option_counts() -> None:
    assert option_of(["--model", "a", "--model=b"], "--model") == "b"
    assert option_of(["--models", "a", "--model"], "--model") is None
