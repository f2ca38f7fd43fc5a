"""What the engine tells where text is not recorded, beside what tests/backend/test_privacy.py finds in a recording."""

from typing import Any

import pytest

from kvarium_engine.arguments import SAMPLING_ARGUMENTS
from kvarium_engine.options import Options, resolve
from kvarium_engine.steering import SUBMIT_ARGUMENTS
from kvarium_ledger import privacy
from kvarium_ledger.decisions import Admitted
from kvarium_ledger.records import Control, Prompt, Step, Text
from tests.engine.mirrored import Mirrored, tokens


def test_each_argument_of_a_submission_is_told_or_known_to_be_text() -> None:
    arguments = set(SUBMIT_ARGUMENTS) | set(SAMPLING_ARGUMENTS)
    assert arguments <= privacy.TOLD | privacy.TEXTS
    assert not privacy.TOLD & privacy.TEXTS


@pytest.mark.parametrize("record_text", ["none", "hash"])
def test_only_numbers_and_names_of_a_command_are_told(record_text: str) -> None:
    args: dict[str, Any] = {
        "prompt": "pepper",
        "max_tokens": "pepper",
        "stop_token_ids": 4711,
        "pepper": 4711,
        "stop_length": 2,
        "n": 3,
        "name": "mine",
    }
    asked = Control(record=7, time=1, id="a", name="submit", args=args, error="it says pepper", asked_by="me")
    told = privacy.Privacy(record_text).control(asked)
    assert told.args == {
        "prompt_length": 6,
        "max_tokens_length": 6,
        "stop_length": 2,
        "n": 3,
        "name": "mine",
    }
    assert (told.record, told.name, told.asked_by) == (7, "submit", "me")
    assert told.error == f"refused: {privacy.WITHHELD}"
    other = privacy.Privacy(record_text).control(Control(record=7, time=1, id="a", name="pepper", args=args))
    assert (other.name, other.args, other.error) == (privacy.UNKNOWN, {}, None)


def test_equal_prompts_are_known_by_equal_hashes_and_no_others() -> None:
    engine = Mirrored(block_size=4, record_text="hash", num_blocks=64)
    for seed in (1, 2, 1):
        engine.submit(tokens(seed, 9), max_tokens=2)
    engine.run()
    prompts = [each for record in engine.records if isinstance(record, Text) for each in record.prompts]
    assert [each.request for each in prompts] == [0, 1, 2]
    assert all(len(each.hash) == 32 and not each.tokens and each.text is None for each in prompts)
    first, second, again = (each.hash for each in prompts)
    assert first == again != second
    told = {value for step in engine.records if isinstance(step, Step) for value in step.contents.hashes}
    missed = {
        each.missed
        for step in engine.records
        if isinstance(step, Step)
        for each in step.decisions
        if isinstance(each, Admitted)
    }
    assert missed - {None} <= told and missed - {None}
    other = privacy.Privacy("hash").prompts([Prompt(request=0, tokens=tokens(1, 9).tobytes())])
    assert other[0].hash != first, "each session has a secret of its own"


@pytest.mark.parametrize(
    ("url", "asked", "record_text"),
    [
        (None, None, "full"),
        ("ws://127.0.0.1:8642/api/engine", None, "full"),
        ("ws://localhost/api/engine", None, "full"),
        ("ws://[::1]:8642/api/engine", None, "full"),
        ("ws://192.0.2.7:8642/api/engine", None, "hash"),
        ("wss://kvarium.example/api/engine", None, "hash"),
        ("wss://kvarium.example/api/engine", "full", "full"),
        ("ws://127.0.0.1:8642/api/engine", "none", "none"),
    ],
)
def test_text_goes_to_another_machine_only_where_that_is_asked_for(
    url: str | None, asked: str | None, record_text: str
) -> None:
    resolved = resolve(Options(connect=url, record_text=asked))
    assert resolved.record_text == record_text
    assert resolved.config.tell_hashes == (record_text != "full")
