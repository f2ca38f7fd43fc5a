"""What ends a sequence: end tokens, stop ids, stop strings across tokens, and how many tokens have to come before."""

import random
from array import array
from typing import Any

import pytest

from kvarium_engine.model.null_runner import Bytes, NullRunner
from kvarium_engine.model.seeded_tokens import EOS, FIRST_TOKEN
from kvarium_engine.scheduling import scheduler
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.stopping import StopStrings
from kvarium_engine.vocabulary import TextDecoder, byte_piece
from kvarium_ledger.decisions import Finished, SequenceDropped
from kvarium_ledger.encoder import Encoder
from kvarium_ledger.records import Step
from tests.engine.mirrored import Mirrored, ScriptedRunner


def said(text: str | bytes, at: int = 10, index: int = 0) -> dict[tuple[int, int], int]:
    """A script in which a sequence says a text, a byte a token, behind a prompt of ``at`` tokens."""
    data = text.encode() if isinstance(text, str) else text
    return {(index, at + i): FIRST_TOKEN + byte for i, byte in enumerate(data)}


def told(engine: Mirrored) -> list[tuple[Any, ...]]:
    """The ends, in order: (reason, stop_reason) of requests, with the sequence before it for dropped ones."""
    ends: list[tuple[Any, ...]] = []
    for record in engine.steps():
        for decision in record.decisions:
            if isinstance(decision, Finished):
                ends.append((decision.reason, decision.stop_reason))
            elif isinstance(decision, SequenceDropped):
                ends.append((decision.sequence, decision.reason, decision.stop_reason))
    return ends


def run(script: dict[tuple[int, int], int], **params: Any) -> tuple[Mirrored, Request]:
    engine = Mirrored(runner=ScriptedRunner(script))
    request = engine.submit(10, **{"max_tokens": 30, **params})
    engine.run()
    engine.assert_nothing_leaks()
    return engine, request


def outputs(request: Request, index: int = 0) -> int:
    return next(s.length for s in request.live if s.index == index) - request.prompt_tokens


# -- tokens ---------------------------------------------------------------------------------------------------------


def test_a_stop_id_ends_a_sequence_and_is_named() -> None:
    engine, request = run({(0, 14): 77}, stop_token_ids=(5, 77))
    assert outputs(request) == 5
    assert told(engine) == [("stop", 77)]
    engine.undo_all()


def test_the_models_end_token_is_not_named_and_goes_before_a_stop_id() -> None:
    script = {(0, 12): EOS}
    assert told(run(script, ignore_eos=False)[0]) == [("stop", None)]
    assert told(run(script, ignore_eos=False, stop_token_ids=(EOS,))[0]) == [("stop", None)]
    assert told(run(script, ignore_eos=True, stop_token_ids=(EOS,))[0]) == [("stop", EOS)]
    assert told(run(script, ignore_eos=True)[0]) == [("length", None)]


@pytest.mark.parametrize(
    ("end", "reason"), [(EOS, ("stop", None)), (77, ("stop", 77)), (78, ("length", None))]
)
def test_a_stop_in_the_last_token_is_a_stop_as_in_vllm(end: int, reason: tuple[str, int | None]) -> None:
    engine, request = run({(0, 39): end}, ignore_eos=False, stop_token_ids=(77,))
    assert outputs(request) == 30
    assert told(engine) == [reason]


@pytest.mark.parametrize("seed", range(5))
def test_before_min_tokens_neither_the_end_token_nor_a_stop_id_is_sampled(seed: int) -> None:
    class Runner(NullRunner):
        def _token(self, salt: int, position: int) -> int:
            return super()._token(salt, position) % 3 + 1  # 1, 2 (the end token) and 3

    engine = Mirrored(runner=Runner(seed))
    requests = [
        engine.submit(10, max_tokens=60, n=2, min_tokens=least, ignore_eos=False, stop_token_ids=(3,))
        for least in (0, 20, 60)
    ]
    sequences = {}
    while not engine.engine.idle:
        engine.step()
        sequences |= {(r.id, s.index): s for r in requests for s in r.live}
    assert {(1, 0), (1, 1), (2, 0), (2, 1)} <= set(sequences)
    for (request, _), sequence in sequences.items():
        least = (0, 20, 60)[request]
        early = sequence.tokens[10 : 10 + least]
        assert EOS not in early
        assert 3 not in early
        assert sequence.length - 10 >= max(least, 1)
    assert any(sequence.length - 10 < 15 for (request, _), sequence in sequences.items() if not request)


def test_min_tokens_holds_where_each_token_would_be_the_end() -> None:
    engine = Mirrored(eos_every=1)
    request = engine.submit(10, min_tokens=7, ignore_eos=False)
    engine.run()
    assert outputs(request) == 8
    assert told(engine) == [("stop", None)]


def test_a_request_without_stops_is_not_looked_at_before_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = scheduler.ending

    def ending(sequence: Any, *rest: Any) -> Any:
        asked.append(sequence.length)
        return real(sequence, *rest)

    monkeypatch.setattr(scheduler, "ending", ending)
    run({}, min_tokens=5)
    assert asked == [40]
    run({}, min_tokens=5, stop_token_ids=(1,))
    assert asked == [40, *range(16, 41)]


# -- text -----------------------------------------------------------------------------------------------------------


def test_a_stop_string_is_found_across_tokens_and_named() -> None:
    engine, request = run(said("Hello, world. Bye"), stop=("xyz", "world"))
    assert outputs(request) == len("Hello, world")
    assert told(engine) == [("stop", "world")]
    engine.undo_all()


def test_characters_of_several_bytes_count_when_they_are_whole() -> None:
    engine, request = run(said("a é € 🙂 b"), stop=("🙂",))
    assert outputs(request) == len("a é € 🙂".encode())
    assert told(engine) == [("stop", "🙂")]


def test_a_stop_string_in_the_prompt_or_half_in_it_stops_nothing() -> None:
    script = said("nd and the end")
    engine = Mirrored(runner=ScriptedRunner(script))
    prompt = engine.engine.runner.vocabulary.encode("the end, e")  # type: ignore[union-attr]
    request = engine.submit(array("I", prompt), max_tokens=30, stop=("end",))
    engine.run()
    assert outputs(request) == len("nd and the end")


def test_of_several_the_first_of_the_requests_order_counts() -> None:
    assert told(run(said("abcd"), stop=("cd", "bcd"))[0]) == [("stop", "cd")]
    assert told(run(said("abcd"), stop=("bcd", "cd"))[0]) == [("stop", "bcd")]


def test_a_stop_id_goes_before_a_stop_string_and_both_before_the_length() -> None:
    stop = FIRST_TOKEN + ord("c")
    assert told(run(said("abc"), stop=("c",), stop_token_ids=(stop,))[0]) == [("stop", stop)]
    assert told(run(said("abc"), stop=("c",), max_tokens=3)[0]) == [("stop", "c")]


def test_stop_strings_are_looked_for_in_what_comes_after_min_tokens() -> None:
    engine, request = run(said("stop stop stop"), stop=("stop",), min_tokens=4)
    assert outputs(request) == len("stop stop")
    engine, request = run(said("stop stop stop"), stop=("stop",), min_tokens=3)
    assert outputs(request) == len("stop"), "one that is completed after them counts, wherever it begins"
    assert told(engine) == [("stop", "stop")]


def test_tokens_without_text_are_passed_over() -> None:
    script = said("en") | {(0, 12): 30_000} | said("d.", at=13)
    engine, request = run(script, stop=("end",))
    assert outputs(request) == 4
    assert told(engine) == [("stop", "end")]


def test_a_preempted_request_goes_on_looking_where_it_was() -> None:
    script = said("x" * 20 + "the end" + "x" * 20, at=40)
    engine = Mirrored(num_blocks=8, runner=ScriptedRunner(script))
    other = engine.submit(40, max_tokens=30)
    request = engine.submit(40, max_tokens=60, stop=("the end",))
    engine.step_until_preempted()
    assert request.state == "preempted"
    engine.run()
    assert outputs(request) == 27
    assert other.state is None
    assert told(engine) == [("length", None), ("stop", "the end")]


def test_each_of_n_sequences_ends_at_its_own_stop_and_says_so() -> None:
    script = said("ab", index=0) | said("xxx!", index=1) | {(2, 12): 77}
    engine, _ = run(script, n=4, max_tokens=6, stop=("b", "!"), stop_token_ids=(77,))
    assert told(engine) == [(0, "stop", "b"), (2, "stop", 77), (1, "stop", "!"), ("length", None)]


def test_of_those_that_end_together_the_ones_with_another_reason_are_dropped_with_it() -> None:
    engine, _ = run(said("ab", index=0) | said("xb", index=2), n=3, max_tokens=2, stop=("b",))
    assert told(engine) == [(1, "length", None), ("stop", "b")]
    engine, _ = run(said("ab", index=1), n=3, max_tokens=2, stop=("b",))
    assert told(engine) == [(1, "stop", "b"), ("length", None)]


def test_without_text_in_the_recording_a_stop_is_not_named() -> None:
    engine, _ = run(said("ab", index=0) | {(1, 12): 77}, n=2, stop=("b",), stop_token_ids=(77,))
    assert told(engine) == [(0, "stop", "b"), ("stop", 77)]
    encoder = Encoder(64, record_text="none")
    records = [record for sealed in engine.sealed for record in encoder.records(sealed)]
    ends = [d for r in records if isinstance(r, Step) for d in r.decisions]
    assert [(d.reason, d.stop_reason) for d in ends if isinstance(d, Finished | SequenceDropped)] == [
        ("stop", None)
    ] * 2


# -- against a plain reading ------------------------------------------------------------------------------------------


class _Pieces(Bytes):
    """A vocabulary whose tokens are several characters, parts of characters, or nothing."""

    def __init__(self) -> None:
        datas = ["a", "b", "ab", "ba ", "é", "€a", ""]
        self.data = [text.encode() for text in datas] + [b"\xe2", b"\x82", b"\xac", b"\xe2\x82", b"\xffa"]
        self.size = len(self.data)

    def piece(self, token: int) -> str:
        return byte_piece(self.data[token])


def test_the_text_is_that_of_all_bytes_together() -> None:
    pieces = _Pieces()
    generator = random.Random(1)
    for _ in range(500):
        tokens = [
            *(generator.randrange(pieces.size) for _ in range(12)),
            0,
        ]  # the last one completes the text
        decoder = TextDecoder(pieces)
        text = "".join(decoder.add(token) for token in tokens)
        assert text == b"".join(pieces.data[token] for token in tokens).decode(errors="replace")


@pytest.mark.parametrize("least", [0, 3])
def test_stop_strings_are_met_where_a_plain_search_of_the_whole_text_meets_them(least: int) -> None:
    pieces = _Pieces()
    generator = random.Random(2 + least)
    met = 0
    for _ in range(2000):
        tokens = array("I", (generator.randrange(pieces.size) for _ in range(15)))
        stops = tuple("".join(generator.choices("ab é€", k=generator.randint(1, 5))) for _ in range(3))
        looking, text, decoder = StopStrings(stops, pieces, 0), "", TextDecoder(pieces)
        for count in range(1, len(tokens) + 1):
            new = decoder.add(tokens[count - 1])
            text += new
            if count <= least:
                continue
            found = looking.met(tokens[:count])
            expected = [s for s in stops if any(text.endswith(s, 0, len(text) - i) for i in range(len(new)))]
            assert found == (expected[0] if expected else None)
            if found:
                met += 1
                break
    assert met > 500
