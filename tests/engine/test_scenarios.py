"""Every scenario on the null runner: its numbers are as stated, its captions are recorded, and what is not so is told."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from kvarium_engine.errors import UsageError
from kvarium_engine.options import Options
from kvarium_engine.scenarios import captions
from kvarium_engine.scenarios.catalogue import SCENARIOS, scenario_named
from kvarium_engine.scenarios.command import _tell
from kvarium_engine.scenarios.performance import Outcome, perform
from kvarium_engine.scenarios.stage import Number, Stage
from kvarium_ledger.records import Note
from tests.engine.stub_backend import TOKEN, StubBackend

STATED: dict[str, dict[str, Any]] = {
    "lazy-allocation": {
        "slots filled in each of them": [16, 16, 8],
        "blocks in all": 65,
        "blocks taken later, one at a time": 62,
        "tokens between two of them": [16],
    },
    "block-table": {"the block table": [41, 7, 19], "tokens in them": 32},
    "two-samples": {
        "ref counts of the prompt's blocks": [2, 2, 2],
        "copies": [[4, 15]],
        "the copied block's count": 1,
        "bytes copied, were it Llama 3.1 8B": 2 << 20,
    },
    "beam-search": {
        "candidates that are dropped": [0, 3],
        "the root's count when two of four are dropped": [2],
    },
    "shared-system-prompt": {"tokens that the second one finds": [64], "their ref counts": [2, 2, 2, 2]},
    "freed-tail-first": {
        "its block table": [22, 8, 31, 14],
        "the end of the free queue": [14, 31, 22],
        "freed blocks that are hit": [31, 14],
    },
    "lru-eviction": {"tokens that are found of a and of b": [48, 0]},
    "preemption": {"tokens to compute again": [80], "tokens that each has sampled": [40, 40]},
    "chunked-prefill": {"its chunks": [60] * 8 + [20]},
    "contiguous-or-paged": {
        "slots that were held, and never used": 1999,
        "blocks of 40 tokens": 3,
    },
    "block-size": {
        "slots that are not used in blocks of 8": 6,
        "slots that are not used in blocks of 256": 46,
    },
}
"""Numbers that each scenario has to find, whatever else it states."""


def command(*arguments: str, token: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-W", "error", "-P", "-m", "kvarium_engine.scenarios", *arguments],
        env={**os.environ, "KVARIUM_ENGINE_TOKEN": token},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    run = command("--all", "--json")
    assert run.returncode == 0, run.stderr + run.stdout[-2000:]
    return {each["name"]: each for each in json.loads(run.stdout)["scenarios"]}


@pytest.fixture
def own_process() -> Iterator[None]:
    """A run in this process leaves its signals and its garbage collector as they were."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    threshold = gc.get_threshold()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    gc.set_threshold(*threshold)


def test_all_of_them_ran(outcomes: dict[str, Any]) -> None:
    assert list(outcomes) == list(SCENARIOS) == list(STATED)


@pytest.mark.parametrize("name", STATED)
def test_its_numbers_are_as_stated(outcomes: dict[str, Any], name: str) -> None:
    outcome = outcomes[name]
    assert outcome["ok"], [each for each in outcome["numbers"] if not each["ok"]]
    found = {each["what"]: each["found"] for each in outcome["numbers"]}
    assert {what: found[what] for what in STATED[name]} == STATED[name]


@pytest.mark.parametrize("name", STATED)
def test_each_caption_is_said_once_and_in_order(outcomes: dict[str, Any], name: str) -> None:
    said = [each["text"].partition(": ")[0] for each in outcomes[name]["captions"]]
    every = captions.captions(name)
    assert said == [f"{name} {number}/{len(every)}" for number in range(1, len(every) + 1)]
    for each in outcomes[name]["captions"]:
        assert "{" not in each["text"], "every value is filled in"
        assert "?" not in each["text"], "every value was found"


def test_every_text_is_there_in_every_language_with_the_same_values() -> None:
    for name in SCENARIOS:
        texts = [*captions.captions(name)]
        texts += [{each: captions.title(name, each) for each in captions.LANGUAGES}]
        texts += [{each: captions.told(name, each) for each in captions.LANGUAGES}]
        for text in texts:
            assert set(text) == set(captions.LANGUAGES), name
            assert all(text.values()), name
            values = [sorted(set(re.findall(r"\{(\w+)\}", each))) for each in text.values()]
            assert values[0] == values[1], text
    known = json.loads((captions.resources.files("kvarium_engine.scenarios") / "captions.json").read_text())
    assert set(known) == set(SCENARIOS), "words of no scenario"


def test_a_wrong_number_is_told_and_is_the_exit_status(own_process: None) -> None:
    told = scenario_named("freed-tail-first")
    # Blocks without a hash go to the head of the queue: then it begins with other blocks than were arranged.
    changed = replace(
        told, acts=(replace(told.acts[0], options={"max_num_seqs": 32, "free_order": "unhashed-first"}),)
    )
    outcome = perform(changed, Options(step_ms=0.0))
    assert not outcome.ok
    wrong = [each for each in outcome.numbers if not each.ok]
    assert wrong[0].what == "the head of the free queue"
    assert wrong[0].found != wrong[0].stated == [5, 22, 8, 31, 14]


def test_one_that_can_t_go_on_says_where(own_process: None) -> None:
    told = scenario_named("preemption")
    roomy = replace(told, acts=(replace(told.acts[0], num_blocks=64),))
    outcome = perform(roomy, Options(step_ms=0.0))
    assert not outcome.ok
    (trouble,) = outcome.troubles
    assert trouble.endswith(": 2,000 steps were asked for, and still not: one is preempted")


def test_names_that_are_none_are_told_with_the_nearest() -> None:
    for wrong, told in (
        ("lazy-alocation", "there is no scenario 'lazy-alocation': did you mean lazy-allocation?"),
        ("zzz", f"there is no scenario 'zzz': it is one of {', '.join(SCENARIOS)}"),
    ):
        with pytest.raises(UsageError, match=f"^{re.escape(told)}$"):
            scenario_named(wrong)
    run = command("two-sample")
    assert (run.returncode, run.stderr) == (
        2,
        "kvarium scenario: there is no scenario 'two-sample': did you mean two-samples?\n",
    )
    assert (
        command("--all", "two-samples").stderr
        == "kvarium scenario: --all and 'two-samples': give one of them\n"
    )


def test_a_recording_of_it_has_its_captions_as_notes() -> None:
    backend = StubBackend()
    try:
        run = command(
            "two-samples", "--json", "--connect", backend.url, "--step-ms", "0", "--pause", "0", token=TOKEN
        )
        assert run.returncode == 0, run.stderr
        (outcome,) = json.loads(run.stdout)["scenarios"]
        notes = [each for each in backend.records if isinstance(each, Note)]
        assert [each.text for each in notes] == [each["text"] for each in outcome["captions"]]
        assert {each.by for each in notes} == {"scenario two-samples"}
        assert backend.violations == []
        assert backend.hello is not None
        assert outcome["sessions"] == [backend.hello.session]
        assert backend.hello.name == "Two samples, copy-on-write"
    finally:
        backend.stop()


def test_what_somebody_else_asks_of_its_engine_is_told(own_process: None) -> None:
    told = scenario_named("two-samples")

    def meddled(stage: Stage) -> Generator[None]:
        script = told.acts[0].script(stage)
        yield next(script)
        stage.engine.ledger.control("1", "read_block", {}, "somebody", None)
        stage.engine.ledger.control("2", "submit", {}, "somebody", None)
        yield from script

    outcome = perform(replace(told, acts=(replace(told.acts[0], script=meddled),)), Options(step_ms=0.0))
    wrong = [each for each in outcome.numbers if not each.ok]
    assert [(each.what, each.found) for each in wrong] == [("commands of others that changed it", ["submit"])]


@pytest.mark.parametrize(
    ("found", "verdict", "way"),
    [
        (2, "INTERRUPTED, 1 of 1 numbers, 1.0 s", "it did not come to its end"),
        (3, "NOT AS STATED, 0 of 1 numbers, 1.0 s", "it did not go on"),
    ],
)
def test_a_scenario_that_somebody_ended_is_told_as_no_failed_one(
    found: int, verdict: str, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = Outcome(scenario_named("two-samples"))
    outcome.numbers = [Number("blocks", 2, found)]
    outcome.troubles, outcome.stopped, outcome.seconds = ["the engine was stopped (SIGINT)"], True, 1.0
    _tell(outcome)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"two-samples: {verdict}"
    assert lines[-1] == f"  {way}: the engine was stopped (SIGINT)"
