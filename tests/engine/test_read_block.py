"""What a block holds, read between two steps: of the life that was asked for, and of nothing else."""

from typing import Any

import pytest

from kvarium_engine.memory.block_norms import BlockNorms
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.steering import Steering
from kvarium_ledger.messages import Answer, Command
from kvarium_ledger.records import Control
from tests.engine.mirrored import Mirrored


class WithKeys(NullRunner):
    """Tells what it is asked to read."""

    kv_bytes_per_block = 64

    def norms(self, block: int, first: int, last: int) -> BlockNorms:
        return BlockNorms(1, 3, [float(block), float(first), float(last)], [0.5, 1.5, 2.5])


def steered(runner: NullRunner | None = None, tells_text: bool = True) -> tuple[Mirrored, Steering]:
    engine = Mirrored(runner=runner)
    return engine, Steering(engine.engine, tells_text=tells_text)


def ask(steering: Steering, command: str, /, **args: Any) -> Answer:
    return steering.carry_out(Command(id="c1", name=command, args=args, asked_by="me"))


def test_the_written_slots_of_a_block_are_read_or_one_of_them() -> None:
    engine, steering = steered(WithKeys())
    ask(steering, "submit", prompt_tokens=21, max_tokens=9)
    engine.step()
    [sequence] = engine.engine.scheduler.roster.running[0].live
    blocks = sequence.table
    read = ask(steering, "read_block", block=blocks[1], generation=1)
    assert read.error is None
    assert read.result == {
        "block": blocks[1],
        "generation": 1,
        "step": 0,
        "first": 0,
        "last": 5,
        "layers": 1,
        "kv_heads": 3,
        "key": [float(blocks[1]), 0.0, 5.0],
        "value": [0.5, 1.5, 2.5],
    }
    one = ask(steering, "read_block", block=blocks[1], generation=1, slot=3)
    assert one.result["key"] == [float(blocks[1]), 3.0, 4.0]
    engine.run()
    told = [record for record in engine.records if isinstance(record, Control)][-1]
    assert (told.name, told.args) == ("read_block", {"block": blocks[1], "generation": 1, "slot": 3})


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({}, "read_block needs block"),
        ({"block": 0}, "read_block needs generation"),
        ({"block": 10**6, "generation": 1}, "block must be a whole number from 0 to "),
        ({"block": "x", "generation": 1}, "block must be a whole number from 0 to "),
        ({"block": 0, "generation": 2}, "block 0#2 is not there: the block is in its life 1 now"),
        ({"block": 0, "generation": 1, "slot": 16}, "slot must be a whole number from 0 to 15, not 16"),
        ({"block": 0, "generation": 1, "head": 1}, "unknown argument 'head'"),
        ({"block": 40, "generation": 0}, "block 40#0 holds nothing: none of its slots is written"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(args: dict[str, Any], message: str) -> None:
    engine, steering = steered(WithKeys())
    ask(steering, "submit", prompt_tokens=21, max_tokens=9)
    engine.step()
    answer = ask(steering, "read_block", **args)
    assert answer.error is not None
    assert message in answer.error


def test_the_null_runner_has_no_keys_and_values() -> None:
    engine, steering = steered()
    ask(steering, "submit", prompt_tokens=21, max_tokens=9)
    engine.step()
    error = ask(steering, "read_block", block=0, generation=1).error
    assert error == "the null runner computes no keys and values: start the engine with a --model"


def test_an_engine_that_tells_no_text_tells_no_norms() -> None:
    engine, steering = steered(WithKeys(), tells_text=False)
    ask(steering, "submit", prompt_tokens=21, max_tokens=9)
    engine.step()
    error = ask(steering, "read_block", block=0, generation=1).error
    assert error is not None
    assert error.startswith("norms of keys tell tokens")
