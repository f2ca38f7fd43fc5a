"""The check's frame, without torch: parts that hang, die or break the card, what is told of them, and arguments that can't be."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kvarium_engine.gpu_check.part import PARTS, Part
from kvarium_engine.gpu_check.report import markdown, report, table
from kvarium_engine.gpu_check.supervisor import run_parts

FAKE = """
import json, sys, time, os
said = lambda told: print(json.dumps(told), flush=True)
name = sys.argv[1]
if name == "never_ready":
    time.sleep(60)
if name == "no_torch":
    sys.exit(1)
print("noise of a library", file=sys.stderr)
said({"ready": "cpu"})
for name in sys.argv[1:]:
    if name == "hangs" or name == "not_ours":
        time.sleep(60)
    if name == "dies":
        os._exit(139)
    said({"name": name, "state": "passed", "facts": {"worker": os.getpid()}, "seconds": 0.1})
    if name == "breaks_the_card":
        sys.exit(3)
"""


def part(name: str, seconds: float = 20.0) -> Part:
    return Part(name, seconds, "none", "none", ours=name != "not_ours")


def run(*parts: Part, total: float = 60.0) -> list[dict[str, Any]]:
    return run_parts(parts, None, total, (sys.executable, "-c", FAKE))


def test_a_part_that_hangs_is_ended_and_the_others_go_on() -> None:
    ended = run(part("first"), part("hangs", -0.5), part("not_ours", -0.5), part("last"))
    assert [(told["name"], told["state"]) for told in ended] == [
        ("first", "passed"),
        ("hangs", "failed"),
        ("not_ours", "skipped"),
        ("last", "passed"),
    ]
    assert ended[1]["why"] == ended[2]["why"] == "it was ended after 0 s, which is all that it may take"


def test_after_a_part_that_breaks_the_card_the_next_gets_a_new_process() -> None:
    first, broken, *others = run(part("first"), part("breaks_the_card"), part("then"), part("last"))
    assert [told["state"] for told in (first, broken, *others)] == ["passed"] * 4
    workers = [told["facts"]["worker"] for told in (first, broken, *others)]
    assert workers[0] == workers[1] != workers[2] == workers[3]


def test_a_process_that_dies_is_told_with_its_status() -> None:
    dies, last = run(part("dies"), part("last"))
    assert (dies["state"], dies["why"]) == ("failed", "the process died (status 139)")
    assert last["state"] == "passed"


def test_without_torch_every_part_says_why() -> None:
    (told,) = run(part("no_torch"))
    assert told["why"] == "torch and transformers can't be imported (status 1)"


def test_what_is_not_begun_when_the_time_is_over_has_failed() -> None:
    slow, last = run(part("never_ready"), part("last"), total=0.4)
    assert "were not imported within 0 s" in slow["why"]
    assert (last["state"], last["why"]) == (
        "failed",
        "it was not begun: the 0 s of the whole check were over",
    )


def test_all_parts_together_are_told_once_each() -> None:
    names = [each.name for each in PARTS]
    assert len(set(names)) == len(names) and all(each.seconds > 0 for each in PARTS)


# -- the report ---------------------------------------------------------------------------------------------------------


def ended(name: str, state: str = "passed", **more: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "seconds": 1.0, "facts": {}, **more}


CARD = {"card": "NVIDIA H100", "device": "cuda", "torch": "2.13.0", "triton": None}


def test_figures_and_failures_are_told_in_json_table_and_markdown() -> None:
    found = report(
        [
            ended("environment", facts=CARD),
            ended("write_kv", facts={"cases": 10, "wrong": []}),
            ended("decode_attention", "failed", why="3 of 12 are off | first head_dim 64"),
            ended(
                "step_time",
                facts={"batches": [{"batch": 8, "eager_ms": 30.0, "graphs_ms": 8.5, "bound_ms": 5.0}]},
            ),
            ended("decode_bandwidth", facts={"loads": [{"share": 0.5}, {"share": 0.83}]}),
            ended("throughput", facts={"kvarium": 1000.0, "generate": 400.0}),
            ended("continuous_batching", "skipped", why="it does not run here"),
        ],
        12.3,
    )
    assert (found["ok"], found["device"]) == (False, "NVIDIA H100")
    assert found["figures"] == {
        "decode_bandwidth_share": 0.83,
        "step_ms": {"8": {"eager": 30.0, "graphs": 8.5, "bound": 5.0}},
        "ledger_percent": None,
        "ledger_us_per_step": None,
        "tokens_per_s": {"kvarium": 1000.0, "generate": 400.0, "continuous_batching": None},
    }
    for text in (table(found), markdown(found)):
        assert "NVIDIA H100" in text and "FAILED" in text and "not run" in text
        assert "decode attention reaches 83 % of a copy's bandwidth" in text
        assert "a step of 8: 30.00 ms, with CUDA graphs 8.50 ms; a copy of as many bytes 5.00 ms" in text
        assert "kvarium 1,000, generate 400" in text
    assert "something is WRONG" in table(found)
    assert "3 of 12 are off \\| first head_dim 64" in markdown(found)
    assert "torch 2.13.0" in markdown(found) and "triton" not in markdown(found)


def test_a_check_without_a_worker_has_no_figures() -> None:
    found = report(
        [ended("environment", "failed", why="torch and transformers can't be imported (status 1)")], 1.0
    )
    assert found["device"] is None and json.loads(json.dumps(found)) == found
    assert "an unknown device" in table(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "speed"], "--only speed: the parts are environment, write_kv, "),
        (["--tiny-model", "absent.bin"], "--tiny-model absent.bin: there is no such file"),
        (["--markdown", "absent/gpu.md"], "--markdown absent/gpu.md: there is no folder absent"),
    ],
)
def test_arguments_that_can_not_be_are_one_clear_line(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-W", "error", "-m", "kvarium_engine.gpu_check", "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kvarium gpu-check: ") and message in done.stderr
    assert len(done.stderr.splitlines()) == 1
