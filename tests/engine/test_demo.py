"""The demo: all nine operations soon, then calm with room for others; the same for a seed; never refused."""

import re
from collections import Counter
from typing import Any

import pytest

from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.model.seeded_tokens import EOS, FIRST_TOKEN
from kvarium_engine.vocabulary import Message
from kvarium_engine.workload.demo import MOST_OPENING, Demo
from kvarium_engine.workload.demo_prompts import Deck, prompts
from kvarium_ledger.decisions import Finished, Refused, Submitted
from kvarium_ledger.ledger import SealedStep
from kvarium_ledger.operations import Operation
from tests.engine.mirrored import Mirrored


class Words:
    """A vocabulary of words and marks, with a chat template: about as many tokens as a real one makes."""

    size = 20_000
    has_chat_template = True

    def __init__(self) -> None:
        self._ids: dict[str, int] = {"<|im_start|>": 1, "<|im_end|>": EOS}

    def encode(self, text: str) -> list[int]:
        return [
            self._ids.setdefault(word, len(self._ids) + FIRST_TOKEN)
            for word in re.findall(r"<\|\w+\|>| ?\w{1,8}|\s|[^\w\s]", text)
        ]

    def chat(self, messages: list[Message]) -> list[int]:
        text = "".join(f"<|im_start|>{role}\n{said}<|im_end|>\n" for role, said in messages)
        return self.encode(text + "<|im_start|>assistant\n")

    def piece(self, token: int) -> str:
        return ""


class WordRunner(NullRunner):
    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed, eos_every=60)
        self.vocabulary = Words()  # type: ignore[assignment]


class Played(Mirrored):
    """An engine that the demo feeds; a step takes ``step_ms`` of the ledger's clock, and idle time passes at once."""

    def __init__(self, seed: int = 0, step_ms: float = 100.0, **options: Any) -> None:
        self.time = 0
        options = {"num_blocks": 96, "seqs": 16, "budget": 128, "length": 1536} | options
        super().__init__(runner=options.pop("runner", None) or WordRunner(), **options)
        self.engine.ledger._clock = lambda: self.engine.ledger._began + self.time  # type: ignore[attr-defined]
        self.demo = Demo(seed)
        self._step_ns = int(step_ms * 1e6)

    def play(self, steps: int) -> None:
        """As the process's loop does it, until so many steps were made."""
        idle = 0
        while steps:
            self.demo.feed(self.engine)
            if self.engine.idle and not self.engine.ledger.pending:
                self.time += int(min(self.demo.pause(self.engine), 0.05) * 1e9)
                idle += 1
                assert idle < 10_000, "nothing more is asked"
                continue
            idle = 0
            self.step()
            self.time += self._step_ns
            steps -= 1

    def asked(self) -> list[tuple[str, str | None]]:
        names = [decision.name for decision in self.decisions(Submitted)]
        texts = [
            prompt.text
            for sealed in self.sealed
            if isinstance(sealed, SealedStep)
            for prompt in sealed.prompts
        ]
        return list(zip(names, texts, strict=True))

    def kinds(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for (kind, _), count in self.operations().items():
            counts[kind] += count
        return counts


def test_the_prompts_are_there_and_none_is_empty_or_twice() -> None:
    said: list[str] = []
    names: list[str] = []
    for subjects in prompts().subjects.values():
        for subject in subjects:
            said += subject.turns
            names.append(subject.name)
            assert len(subject.system) > 300
    assert len(said) >= 60
    assert all(text.strip() == text and len(text) > 10 for text in said)
    assert [text for text, count in Counter(said).items() if count > 1] == []
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)


def test_the_system_prompts_fill_whole_blocks_and_begin_alike() -> None:
    systems = sorted({subject.system for kind in prompts().subjects.values() for subject in kind})
    assert len(systems) == 2
    for system in systems:
        assert 90 <= len(Words().encode(system)) <= 150
    alike = next(i for i, (a, b) in enumerate(zip(*systems, strict=False)) if a != b)
    assert len(Words().encode(systems[0][:alike])) > 32


def test_a_deck_comes_around_before_it_repeats_and_depends_on_its_seed() -> None:
    def drawn(seed: int) -> list[str]:
        deck = Deck(seed)
        return [deck.draw().name for _ in range(64)]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)
    chats = [name for name in drawn(3) if name in {s.name for s in prompts().subjects["chat"]}]
    assert len(set(chats[:24])) == 24


@pytest.mark.parametrize("seed", range(4))
def test_all_nine_operations_happen_within_the_opening(seed: int) -> None:
    engine = Played(seed)
    engine.play(260)
    assert set(engine.kinds()) == {operation.name for operation in Operation}
    causes = set(engine.operations())
    assert {("share", "fork"), ("share", "prefix_hit"), ("reuse", "prefix_hit")} <= causes
    assert engine.demo.calm
    computed = sum(sealed.tokens for sealed in engine.sealed if isinstance(sealed, SealedStep))
    assert computed < 6000


@pytest.mark.parametrize("num_blocks", [512, 96])
def test_bytes_do_as_well_where_the_pool_is_of_their_size(num_blocks: int) -> None:
    engine = Played(num_blocks=num_blocks, length=num_blocks * 16, runner=NullRunner(), budget=512)
    engine.play(900)
    assert set(engine.kinds()) == {operation.name for operation in Operation}
    assert engine.decisions(Refused) == []


def test_the_calm_leaves_room_and_goes_on() -> None:
    engine = Played()
    engine.play(400)
    assert engine.demo.calm
    begun, began = len(engine.asked()), engine.time
    free: list[int] = []
    while engine.time < began + 300e9:
        engine.play(1)
        assert len(engine.roster.waiting) == 0
        assert len(engine.roster.running) <= 2
        free.append(engine.pool.num_free)
    assert min(free) >= 96 // 4
    asked = len(engine.asked()) - begun
    assert 25 <= asked <= 120, "one or two conversations at a time, with pauses"
    assert {decision.n for decision in engine.decisions(Submitted)[begun:]} == {1, 3}


def test_a_persons_prompt_gets_in_at_once_in_the_calm() -> None:
    engine = Played()
    engine.play(450)
    for _ in range(30):
        engine.play(7)
        request = engine.submit(100, 8, ignore_eos=False)
        engine.play(1)
        assert request.first is not None, "it was admitted"


def test_a_seed_asks_the_same_whatever_the_pace_and_another_seed_something_else() -> None:
    def asked(seed: int, step_ms: float) -> dict[str, str | None]:
        engine = Played(seed, step_ms)
        engine.play(500)
        return dict(engine.asked())

    first, slower, other = asked(1, 100), asked(1, 400), asked(2, 100)
    common = first.keys() & slower.keys()
    assert len(common) >= 10
    assert all(first[name] == slower[name] for name in common)
    assert first != other
    assert first == asked(1, 100)


def test_further_turns_hit_what_their_conversation_left() -> None:
    engine = Played()
    engine.play(300)
    turns = [name for name, _ in engine.asked() if "-turn-" in name]
    assert len(turns) >= 3
    assert engine.kinds()["reuse"] >= 10


@pytest.mark.parametrize("seqs", [1, 2, 64])
@pytest.mark.parametrize("block_size", [1, 16, 256])
@pytest.mark.parametrize("num_blocks", [1, 2, 7, 40, 3000])
def test_any_pool_is_served_and_nothing_is_ever_refused(num_blocks: int, block_size: int, seqs: int) -> None:
    for length in (1, 2, 30, num_blocks * block_size):
        engine = Played(
            num_blocks=num_blocks,
            block_size=block_size,
            seqs=seqs,
            length=length,
            audit_interval=50,
            budget=256,
        )
        if length == 1 or num_blocks * block_size == 1:
            engine.demo.feed(engine.engine)
            assert engine.engine.idle
            continue
        engine.play(60)
        assert engine.decisions(Refused) == []
        assert engine.decisions(Submitted)
        assert {decision.reason for decision in engine.decisions(Finished)} <= {"stop", "length"}


def test_a_pool_that_is_never_used_up_comes_to_rest_all_the_same() -> None:
    engine = Played(num_blocks=20_000, length=8192, seqs=64, audit_interval=100, budget=4096)
    engine.play(700)
    assert engine.demo.calm
    assert engine.kinds()["evict"] == 0
    assert len(engine.asked()) >= MOST_OPENING


def test_a_runner_whose_tokens_have_no_text_is_asked_nothing() -> None:
    runner = NullRunner()
    runner.vocabulary = None  # type: ignore[assignment]
    engine = Played(runner=runner)
    engine.demo.feed(engine.engine)
    assert engine.engine.idle
    assert engine.demo.pause(engine.engine) > 0


def test_the_mirror_agrees_backwards_too_and_nothing_leaks() -> None:
    engine = Played()
    engine.play(350)
    engine.engine.close("the end of the test")
    assert engine.mirror() == []
    engine.assert_nothing_leaks()
    assert engine.fold.check_all() == []
    engine.undo_all()
