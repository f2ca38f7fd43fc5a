"""``kvarium kernels``: what there is, what is compiled for which card, and what is refused; all of it without a card."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from kvarium_engine.kernels_command import register

ARCHS = {"sm_80", "sm_90", "sm_100"}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command, in a process of its own."""
    code = "import typer; from kvarium_engine.kernels_command import register; app = typer.Typer(); register(app); "
    code += "app.command('other')(lambda: None); app(prog_name='kvarium')"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, "kernels", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.model
def test_all_kernels_are_listed_with_their_settings() -> None:
    done = run("ls", "--json")
    assert done.returncode == 0, done.stderr
    kernels = {each["kernel"]: each for each in json.loads(done.stdout)["kernels"]}
    assert set(kernels) >= {"write_kv", "copy_blocks"}
    assert set(kernels["write_kv"]["settings"]["head_dim"]) >= {64, 80, 96, 128, 256}
    assert all(set(each["settings"]["arch"]) == ARCHS for each in kernels.values())
    plain = run("ls")
    assert all(
        f"{each['kernel']}: {each['binaries']:,} binaries" in plain.stdout for each in kernels.values()
    )


@pytest.mark.model
@pytest.mark.timeout(900)
def test_each_value_of_each_setting_compiles_for_each_card(size: str, tmp_path: Path) -> None:
    which = "pairs" if size == "full" else "single"
    # Interpreted or not is the engine's matter: what is compiled is compiled. Nothing is left where Triton keeps its things.
    done = run(
        "compile", "--set", which, "--json", HOME=str(tmp_path), TRITON_INTERPRET="1", TMPDIR=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["failed"] == 0
    assert told["compiled"] == len(told["binaries"])
    assert told["compiled"] == 30 if size == "small" else told["compiled"] <= 150
    for binary in told["binaries"]:
        assert binary["error"] is None
        assert 16 <= binary["registers"] <= 255, binary
        assert binary["cubin_bytes"] > 1000
    listed = json.loads(run("ls", "--json").stdout)["kernels"]
    for kernel in listed:
        for name, values in kernel["settings"].items():
            found = {each[name] for each in told["binaries"] if each["kernel"] == kernel["kernel"]}
            assert found == set(values), f"{kernel['kernel']}: {name}"
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "some"], "--set is single, pairs, all, not 'some'"),
        (["--set", "pairs", "--all"], "--all and --set pairs can't both hold"),
        (["--arch", "sm_70"], "--arch is sm_80, sm_90, sm_100, not 'sm_70'"),
        (["--arch", "ninety"], "--arch is sm_80, sm_90, sm_100, not 'ninety'"),
        (["--jobs", "0"], "--jobs is at least 1, not 0"),
    ],
)
def test_what_is_none_is_refused_in_one_line(arguments: list[str], message: str) -> None:
    app = typer.Typer()
    register(app)
    app.command("other")(lambda: None)
    done = CliRunner().invoke(app, ["kernels", "compile", *arguments])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("kvarium kernels: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.model
def test_a_kernel_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    done = run("compile", "--kernel", "flash")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kvarium kernels: --kernel is copy_blocks, ")
    assert done.stderr.endswith(" not 'flash'\n")


FAILING = """
from kvarium_engine import kernels_command
from kvarium_engine.kernels.triton_copy_blocks import variants
from kvarium_engine.kernels.variants import Variant
good = next(variants())
bad = Variant("copy_blocks", {"word_bytes": 3}, {**good.signature, "pool": "*fp8e4nv"}, {"BLOCK": 1000}, 4, 2)
if __name__ == "__main__":
    kernels_command.all_variants = lambda: [good, bad]
    kernels_command.compile_kernels("all", False, ["90"], None, 1, True)
"""

STOPPED = """
import os, signal, sys, typer
from kvarium_engine import kernels_command, progress
from kvarium_engine.kernels.triton_copy_blocks import variants
lines = progress._Lines.report
def report(self, done, now):
    lines(self, done, now)
    os.kill(os.getpid(), signal.SIGINT)
progress._Lines.report = report
if __name__ == "__main__":
    try:
        kernels_command.compile_kernels("all", False, ["80", "90", "100"], ["copy_blocks"], 1, True)
    except typer.Exit as end:
        sys.exit(end.exit_code)
"""

CRASHING = """
import os
from kvarium_engine import kernels_command
from kvarium_engine.kernels import compilation
from kvarium_engine.kernels.variants import Variant
compilation.kernels = lambda: os._exit(1)
if __name__ == "__main__":
    kernels_command.all_variants = lambda: [Variant("crash", {"dtype": "float32"}, {}, {})]
    kernels_command.compile_kernels("all", False, ["90"], None, 1, True)
"""


def run_script(text: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A file, as each process of the compilation begins with what it holds: kernels, which an interpreter's are not."""
    script = folder / "script.py"
    script.write_text(text)
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    return subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, env=environment | more
    )


@pytest.mark.model
@pytest.mark.timeout(900)
def test_what_does_not_compile_is_named_and_the_rest_is_told(tmp_path: Path) -> None:
    done = run_script(FAILING, tmp_path)
    assert done.returncode == 1, done.stderr
    assert "kvarium kernels: copy_blocks (word_bytes 3, arch sm_90): " in done.stderr
    told = json.loads(done.stdout)
    assert (told["compiled"], told["failed"]) == (1, 1)
    good, bad = told["binaries"]
    assert good["registers"] > 0 and bad["error"]


@pytest.mark.model
@pytest.mark.timeout(900)
def test_what_was_compiled_before_ctrl_c_is_told(tmp_path: Path) -> None:
    done = run_script(STOPPED, tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == 130, done.stderr
    told = json.loads(done.stdout)
    assert (told["asked"], told["compiled"], told["failed"]) == (12, 1, 0)
    assert "kvarium kernels: stopped: 1 of 12 binaries are told, nothing else is left of it\n" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["script.py"]


@pytest.mark.model
@pytest.mark.timeout(900)
def test_a_compiler_that_crashes_is_a_failure_that_is_named(tmp_path: Path) -> None:
    done = run_script(CRASHING, tmp_path)
    assert done.returncode == 1, done.stderr
    assert "kvarium kernels: crash (dtype float32, arch sm_90): the compiler crashed\n" in done.stderr
    assert json.loads(done.stdout)["failed"] == 1


def test_without_triton_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'triton' else find(name, *more)\n"
    )
    for command in ("ls", "compile"):
        done = run(command, PYTHONPATH=str(tmp_path))
        assert (done.returncode, done.stdout) == (2, "")
        assert "triton, not installed here: pip install 'kvarium[engine]'" in done.stderr
        assert done.stderr.count("\n") == 1
