"""Where a script acts: it submits, says captions, and states numbers, which are compared with what the ledger tells."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

from kvarium_engine.arguments import Args
from kvarium_engine.engine import Engine
from kvarium_engine.scenarios import captions
from kvarium_engine.scenarios.witness import Witness
from kvarium_engine.steering import Steering
from kvarium_ledger.messages import Command
from kvarium_ledger.operations import Operation

ASKED_BY = "scenario"
"""Who asks, in the records of what a script submits."""

_PASSAGE = (
    "the keeper lights the lamp at dusk and counts the ships that pass; each has a name, and he writes them down, one a line, "
    "until the page is full and another one is begun. "
)


class Number(NamedTuple):
    """A number of a scenario: what it is of, what it has to be, and what the ledger says that it was."""

    what: str
    stated: Any
    found: Any

    @property
    def ok(self) -> bool:
        """Is it as stated?"""
        return bool(self.stated == self.found)


class Caption(NamedTuple):
    """A caption that was said: behind which step, and in which words."""

    step: int
    text: str


class AstrayError(Exception):
    """Something happened that a scenario can't go on from: a request of its own was refused, or is not there."""


class Stage:
    """One engine as a script sees it. ``seen`` are the ledger's records; ``numbers`` and ``captions`` what was stated and said.

    ``pause`` is called behind each caption, so that a person can read it.
    """

    def __init__(
        self,
        scenario: str,
        engine: Engine,
        steering: Steering,
        seen: Witness,
        pause: Callable[[], None],
    ) -> None:
        self.engine = engine
        self.seen = seen
        self.numbers: list[Number] = []
        self.captions: list[Caption] = []
        self._scenario = scenario
        self._steering = steering
        self._pause = pause
        self._asked = 0

    @property
    def has_tensors(self) -> bool:
        """Are there keys and values?"""
        return self.engine.runner.has_logits

    # -- asking ------------------------------------------------------------------------------------------------------

    def prompt(self, tokens: int, beginning: str) -> list[int]:
        """So many token ids of a text that begins with ``beginning``; of a model without a tokenizer, mere numbers."""
        vocabulary = self.engine.runner.vocabulary
        if vocabulary is None:
            first = sum(map(ord, beginning))
            return [(first + 7 * place) % self.engine.runner.vocab_size for place in range(tokens)]
        text = f"{beginning}: {_PASSAGE}"
        ids = vocabulary.encode(text)
        while len(ids) < tokens:
            text += _PASSAGE
            ids = vocabulary.encode(text)
        return list(ids[:tokens])

    def submit(self, prompt: Sequence[int], max_tokens: int, name: str, **args: Any) -> int:
        """Submit a prompt of token ids, as a command; the request's number. It samples all of ``max_tokens``, the likeliest ones.

        Raises :class:`AstrayError` where the engine does not take it.
        """
        self._asked += 1
        asked: Args = {
            "prompt_tokens": list(prompt),
            "max_tokens": max_tokens,
            "temperature": 0.0,
            "ignore_eos": True,
            "name": name,
        }
        answer = self._steering.carry_out(
            Command(
                id=f"{ASKED_BY}-{self._asked}",
                name="submit",
                args=asked | args,
                asked_by=f"{ASKED_BY} {self._scenario}",
            )
        )
        if answer.error is not None or answer.result.get("refused"):
            why = answer.error or "it can never fit"
            raise AstrayError(f"the engine does not take the request {name!r}: {why}")
        number = answer.result["request"]
        assert isinstance(number, int), "a request has a number"
        return number

    def sequence(self, request: int) -> int:
        """The first sequence of a request. Raises :class:`AstrayError` where there is none yet."""
        found = self.seen.sequences(request)
        if not found:
            raise AstrayError(f"request {request} has no sequence at step {self.seen.step}")
        return found[0]

    def table(self, request: int) -> list[int]:
        """The blocks of a request's first sequence."""
        return self.seen.table(self.sequence(request))

    def until(self, holds: Callable[[], bool], what: str, steps: int = 2000) -> Generator[None]:
        """Make steps until something holds. Raises :class:`AstrayError` where that takes more than so many ``steps``."""
        for _ in range(steps):
            if holds():
                return
            yield
        raise AstrayError(f"{steps:,} steps were asked for, and still not: {what}")

    def until_ended(self, *requests: int) -> Generator[None]:
        """Make steps until all of ``requests`` have ended."""
        names = ", ".join(map(str, requests))
        yield from self.until(lambda: all(map(self.seen.has_ended, requests)), f"requests {names} have ended")

    def arrange(self, first: Sequence[int]) -> Generator[None]:
        """Bring ``first`` to the head of a fresh pool's free queue: a request a block, and they end in that order."""
        blocks = self.engine.config.num_blocks
        last = len(first) + 1
        ends = {block: place + 1 for place, block in enumerate(first)}
        token = self.prompt(1, "a")
        asked = [self.submit(token, ends.get(block, last), f"block-{block}") for block in range(blocks)]
        yield
        yield from self.until_ended(*asked)
        self.expect("the head of the free queue", list(first), self.seen.queue()[: len(first)])

    # -- telling -----------------------------------------------------------------------------------------------------

    def caption(self, number: int, **values: object) -> None:
        """Say the ``number``-th caption behind the last step: it becomes a note in the recording."""
        told = {name: _worded(value) for name, value in values.items()}
        text = captions.note(self._scenario, number, told)
        self.engine.ledger.note(text, by=f"{ASKED_BY} {self._scenario}")
        self.captions.append(Caption(self.seen.step, text))
        self._pause()

    def expect(self, what: str, stated: Any, found: Any) -> None:
        """A number has to be ``stated``; ``found`` is what the ledger's records say."""
        self.numbers.append(Number(what, stated, found))

    def blocks_of(self, *kinds: Operation, sequence: int | None = None, since: int = -1) -> list[int]:
        """The blocks of operations, in their order."""
        return [each.block for each in self.seen.happened(*kinds, sequence=sequence, since=since)]


def _worded(value: object) -> str:
    """A value as a caption has it."""
    if isinstance(value, list):
        return ", ".join(map(_worded, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
