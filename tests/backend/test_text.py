"""Transcripts: the tokens that the API tells of a sequence are those that the engine's own objects had at that record."""

import random
import sqlite3
from array import array
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_engine.scheduling.request import Request
from kvarium_engine.steering import Steering
from kvarium_ledger import codec
from kvarium_ledger.decisions import Hypothesis, SequenceCreated, SequenceDropped
from kvarium_ledger.encoder import Encoder
from kvarium_ledger.hashes import block_hash, root_hash
from kvarium_ledger.ledger import SealedStep
from kvarium_ledger.messages import Command
from kvarium_ledger.records import Step
from tests.backend.hand_engine import hello, record_of
from tests.backend.running_server import RunningServer, wait_for
from tests.engine.likely_runner import LikelyRunner
from tests.engine.mirrored import Mirrored, tokens

BLOCKS, SIZE = 24, 4

Truth = dict[int, dict[int, tuple[int, int, list[int], list[int]]]]
"""By the record of a step, for each sequence that is there after it: request, index, prompt, sampled tokens."""


class Run:
    """A run of the real engine in a small pool: what it recorded, and what its own objects were after each step."""

    def __init__(self, seed: int, steps: int = 140) -> None:
        self.engine = Mirrored(num_blocks=BLOCKS, block_size=SIZE, seqs=8, eos_every=9, seed=seed)
        self.truth: Truth = {}
        self.requests: dict[int, int] = {}
        self.last_seen: dict[int, int] = {}
        self.asked: dict[int, Request] = {}
        rng = random.Random(seed)
        for _ in range(steps):
            if rng.random() < 0.25:
                count = rng.randint(1, 3)
                how = {"n": count} if rng.random() < 0.6 else {"n": count, "beam_width": count + 1}
                request = self.engine.submit(
                    rng.randint(1, 30), max_tokens=rng.randint(1, 20), ignore_eos=False, **how
                )
                self.asked[request.id] = request
            if rng.random() < 0.03 and self.engine.roster.requests:
                self.engine.engine.scheduler.abort(rng.choice(list(self.engine.roster.requests.values())))
            self.engine.step()
            self.note()

    def note(self) -> None:
        record = next(found for found in reversed(self.engine.records) if isinstance(found, Step)).record
        self.truth[record] = {
            sequence.id: (
                request.id,
                sequence.index,
                request.prompt.tolist(),
                sequence.tokens[request.prompt_tokens :].tolist(),
            )
            for request in self.engine.roster.requests.values()
            for sequence in request.live
        }
        self.requests |= {sequence: row[0] for sequence, row in self.truth[record].items()}
        self.last_seen |= dict.fromkeys(self.truth[record], record)

    def frames(self, record_text: str = "full") -> list[bytes]:
        encoder = Encoder(BLOCKS, record_text, self.engine.engine.runner.vocabulary)
        return [frame for sealed in self.engine.sealed for _, frame in encoder.encode(sealed)]


@pytest.fixture(scope="module")
def run() -> Run:
    found = Run(seed=9)
    assert found.engine.operations()["release", "preempted"] + found.engine.operations()["free", "preempted"]
    assert found.engine.operations()["share", "fork"]
    assert any(
        decision.parent is not None and decision.index >= found.asked[decision.request].params.width
        for decision in found.engine.decisions(SequenceCreated)
    ), "beams fork in mid-generation"
    return found


def sent(server: RunningServer, frames: list[bytes], parts: int = 6, **changes: Any) -> str:
    """Send frames as an engine would, in several chunks; the session, indexed to its end."""
    engine = server.engine(hello(num_blocks=BLOCKS, block_size=SIZE, **changes))
    size = len(frames) // parts + 1
    for i in range(0, len(frames), size):
        engine.send(frames[i : i + size])
        engine.wait_acked(record_of(frames[i : i + size][-1]))
    engine.bye()
    server.wait_indexed(engine.hello.session, record_of(frames[-1]))
    return engine.hello.session


@pytest.fixture(scope="module")
def recorded(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, str]]:
    server = RunningServer(tmp_path_factory.mktemp("text") / "text.db")
    yield server, sent(server, run.frames())
    server.stop()


def told(server: RunningServer, session: str, sequence: int, record: int | None = None) -> Any:
    query = {} if record is None else {"record": record}
    return server.get(f"/sessions/{session}/sequences/{sequence}/tokens", **query)


def test_the_tokens_of_a_sequence_at_a_record_are_those_that_the_engine_had(
    run: Run, recorded: tuple[RunningServer, str], rng: random.Random
) -> None:
    server, session = recorded
    places = [(record, sequence) for record, rows in run.truth.items() for sequence in rows]
    for record, sequence in rng.sample(places, 60):
        request, index, prompt, sampled = run.truth[record][sequence]
        for at in (record, record + 1):  # at the step's record, and at its text
            answer = told(server, session, sequence, at)
            assert (answer["request"], answer["index"], answer["record"]) == (request, index, at)
            assert (answer["prompt"], answer["tokens"]) == (prompt, sampled)
            assert answer["gaps"] == []
            assert "why" not in answer
        assert len(answer["records"]) == len(sampled)
        assert all(found in run.truth and found <= record for found in answer["records"])
        assert answer["records"] == sorted(answer["records"])


def test_a_request_tells_what_the_command_that_submitted_it_asked_for(
    recorded: tuple[RunningServer, str],
) -> None:
    engine = Mirrored(num_blocks=BLOCKS, block_size=SIZE)
    steering = Steering(engine.engine)
    engine.submit(3, max_tokens=2)
    engine.step()
    args = {"prompt_tokens": 4, "temperature": 0.5, "max_tokens": 3}
    for number, how in enumerate(({"seed": 5}, {"top_p": 7}, {"seed": 6, "stop": "the end"})):
        steering.carry_out(Command(id=f"c{number}", name="submit", args=args | how))
    engine.run()
    encoder = Encoder(BLOCKS, "full", engine.engine.runner.vocabulary)
    server, _ = recorded
    session = sent(
        server, [frame for sealed in engine.sealed for _, frame in encoder.encode(sealed)], parts=3
    )
    told = [server.get(f"/sessions/{session}/requests/{request}/tokens")["submit"] for request in range(3)]
    assert told == [
        None,
        args | {"seed": 5, "request": 1},
        args | {"seed": 6, "stop_length": 7, "request": 2},
    ]


def test_the_answers_of_a_beam_search_are_those_that_the_engine_found_as_of_any_record(
    run: Run, recorded: tuple[RunningServer, str]
) -> None:
    server, session = recorded
    found = [
        (step.record, decision)
        for step in run.engine.steps()
        for decision in step.decisions
        if isinstance(decision, Hypothesis)
    ]
    searches = [request for request in run.asked.values() if request.params.beam_width and request.created]
    assert {answer.reason for request in searches for answer in request.hypotheses} == {"stop", "length"}
    for request in searches:
        url = f"/sessions/{session}/requests/{request.id}/tokens"
        answer = server.get(url)
        assert answer["facts"]["beam_width"] == request.params.beam_width
        told = answer["hypotheses"]
        assert [(row["score"], row["tokens"], row["reason"]) for row in told] == [
            (each.score, each.tokens.tolist(), each.reason) for each in request.hypotheses
        ]
        assert [row["rank"] for row in told] == list(range(len(told)))
        for record in {record for record, decision in found if decision.request == request.id}:
            for at in (max(record - 1, answer["submitted"]), record):
                known = [
                    decision for when, decision in found if when <= at and decision.request == request.id
                ]
                rows = server.get(url, record=at)["hypotheses"]
                assert sorted(row["score"] for row in rows) == sorted(each.score for each in known)
                assert all({**row, "rank": 0} in [{**each, "rank": 0} for each in told] for row in rows)


def test_without_a_record_it_is_all_that_was_ever_sampled(
    run: Run, recorded: tuple[RunningServer, str]
) -> None:
    server, session = recorded
    for sequence, record in run.last_seen.items():
        _, _, prompt, sampled = run.truth[record][sequence]
        answer = told(server, session, sequence)
        assert answer["prompt"] == prompt
        # The token that ended it was sampled in the step after which it was not there any more.
        assert answer["tokens"][: len(sampled)] == sampled
        assert len(answer["tokens"]) - len(sampled) in (0, 1)


def test_a_request_tells_its_sequences_and_what_each_sampled_itself(
    run: Run, recorded: tuple[RunningServer, str]
) -> None:
    server, session = recorded
    rows = server.get(f"/sessions/{session}/requests")["requests"]
    dropped = {
        decision.sequence: {"record": record.record, "reason": decision.reason, "stop_reason": None}
        for record in run.engine.records
        if isinstance(record, Step)
        for decision in record.decisions
        if isinstance(decision, SequenceDropped)
    }
    assert {ending["reason"] for ending in dropped.values()} >= {"stop", None}
    for request in sorted(set(run.requests.values())):
        answer = server.get(f"/sessions/{session}/requests/{request}/tokens")
        own = [sequence for sequence, of in run.requests.items() if of == request]
        assert set(own) <= {row["sequence"] for row in answer["sequences"]}
        for row in answer["sequences"]:
            single = told(server, session, row["sequence"])
            taken = len(single["tokens"]) - len(row["tokens"])
            assert (row["tokens"], row["records"]) == (single["tokens"][taken:], single["records"][taken:])
            assert all(record < row["created"] for record in single["records"][:taken])
            assert taken == 0 or run.asked[request].params.beam_width
            assert (row["index"] > 0) == (row["parent"] is not None)
            assert row["ending"] == dropped.get(row["sequence"])
        indexed = next(row for row in rows if row["request"] == request)
        assert answer["submitted"] == indexed["submitted_record"]
        width = answer["facts"].pop("beam_width")
        assert width == run.asked[request].params.beam_width
        assert answer["facts"].pop("lora_name") == run.asked[request].keys.lora_name
        assert answer["facts"] == {name: indexed[name] for name in answer["facts"]}
        assert len(answer["facts"]) == 5
        ending = answer["ending"]
        if ending is None:
            assert indexed["ended_step"] is None
        else:
            assert (ending["step"], ending["kind"]) == (indexed["ended_step"], indexed["state"])
            assert ending["reason"] == indexed["reason"]
            assert ending["stop_reason"] is None, "none of these has a stop of its own"


def test_how_likely_tokens_were_is_told_of_those_that_asked(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=BLOCKS, block_size=SIZE, runner=LikelyRunner())
    engine.submit(5, max_tokens=4)
    engine.submit(6, max_tokens=3, n=2, logprobs=2)
    engine.submit(5, max_tokens=2, logprobs=0)
    engine.run()
    encoder = Encoder(BLOCKS)
    session = sent(server, [frame for sealed in engine.sealed for _, frame in encoder.encode(sealed)])
    owners = {d.sequence: (d.request, d.index) for d in engine.decisions(SequenceCreated)}
    for sequence, (request, _) in owners.items():
        answer = told(server, session, sequence)
        if request == 0:
            assert "logprobs" not in answer
            continue
        prompt, top = (6, [[0, 0.0], [1, -0.125]]) if request == 1 else (5, [])
        assert answer["logprobs"] == [
            {"logprob": -(prompt + i) / 8, "rank": 7, "top": top} for i in range(len(answer["tokens"]))
        ]
        assert len(answer["tokens"]) == {1: 3, 2: 2}[request]
    rows = server.get(f"/sessions/{session}/requests/1/tokens")["sequences"]
    assert all(len(row["logprobs"]) == len(row["tokens"]) for row in rows)
    assert "logprobs" not in server.get(f"/sessions/{session}/requests/0/tokens")["sequences"][0]


def test_only_the_chunks_of_a_requests_life_are_read(
    run: Run, recorded: tuple[RunningServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, session = recorded
    reader = server.hub.reader
    opened: list[int] = []
    real = reader.open_chunk
    monkeypatch.setattr(
        reader, "open_chunk", lambda row, *more: opened.append(row["first"]) or real(row, *more)
    )
    row = server.get(f"/sessions/{session}/requests")["requests"][0]
    answer = server.get(f"/sessions/{session}/requests/{row['request']}/tokens")
    assert answer["sequences"]
    assert len(opened) <= 2


def test_what_is_not_there_is_404_with_the_reason_and_what_is_no_number_422(
    run: Run, recorded: tuple[RunningServer, str]
) -> None:
    server, session = recorded
    first = {sequence: record for record, rows in reversed(run.truth.items()) for sequence in rows}
    late = max(first)

    def answer(path: str, status: int) -> str:
        response = server.http.get(f"/api/sessions/{session}/{path}")
        assert response.status_code == status, response.text
        return str(response.json()["detail"])

    assert "no sequence 4000000" in answer("sequences/4000000/tokens", 404)
    assert f"no sequence {late} up to record 3" in answer(f"sequences/{late}/tokens?record=3", 404)
    assert "record 999999 is not in the recording" in answer("sequences/0/tokens?record=999999", 404)
    assert "no request 4000000" in answer("requests/4000000/tokens", 404)
    for path in ("sequences/x/tokens", "sequences/-1/tokens", "sequences/0/tokens?record=-4"):
        answer(path, 422)
    assert server.http.get("/api/sessions/none/sequences/0/tokens").status_code == 404


def test_a_session_without_text_says_so_and_still_counts(run: Run, server: RunningServer) -> None:
    session = sent(server, run.frames("none"), record_text="none")
    sequence, record = max(run.last_seen.items(), key=lambda item: len(run.truth[item[1]][item[0]][3]))
    answer = told(server, session, sequence)
    assert (answer["prompt"], answer["text"], answer["tokens"]) == (None, None, None)
    assert "--record-text none" in answer["why"]
    assert len(answer["records"]) >= len(run.truth[record][sequence][3]) > 3
    assert server.get(f"/sessions/{session}/pieces")["pieces"] == {}


def test_the_extra_keys_of_a_content_are_told_or_its_hash_where_text_is_not_recorded(
    server: RunningServer,
) -> None:
    found: dict[str, list[Any]] = {}
    for record_text in ("full", "none"):
        engine = Mirrored(num_blocks=BLOCKS, block_size=SIZE, record_text=record_text)
        for keys in (ExtraKeys("sql", "pepper"), NO_KEYS):
            engine.submit(tokens(1, 2 * SIZE + 1), max_tokens=1, keys=keys)
            engine.step()
        session = sent(server, [codec.seal(record) for record in engine.records], record_text=record_text)
        found[record_text] = server.get(f"/sessions/{session}/contents", content=[0, 1, 2, 3])["contents"]
    lora, salt = ["lora", "sql", "sql"], ["cache_salt", "pepper"]
    full, bare = found["full"], found["none"]
    assert [row["parent"] for row in full] == [row["parent"] for row in bare] == [None, 0, None, 2]
    assert [row["extra_keys"] for row in full] == [[lora, salt], [lora], None, None]
    value = root_hash("0")
    hashes: set[str] = set()
    for row, told_row in zip(full, bare, strict=True):
        value = block_hash(
            root_hash("0") if row["parent"] is None else value, row["tokens"], row["extra_keys"]
        )
        assert row["hash"] is None
        assert told_row["hash"] != value.hex(), "a public chain would confirm a guessed text"
        hashes.add(told_row["hash"])
        assert (told_row["tokens"], told_row["extra_keys"]) == (None, None)
    assert len(hashes) == 4


def test_it_is_told_before_the_index_knows_the_request(run: Run, server: RunningServer) -> None:
    frames = run.frames()
    session = sent(server, frames)
    with closing(sqlite3.connect(server.path)) as connection, connection:
        connection.execute("DELETE FROM request")
    for sequence, record in list(run.last_seen.items())[::5]:
        _, _, prompt, sampled = run.truth[record][sequence]
        answer = told(server, session, sequence, record)
        assert (answer["prompt"], answer["tokens"]) == (prompt, sampled)


def test_a_gap_in_the_middle_is_told_and_what_came_before_and_after_it_is_there(
    server: RunningServer,
) -> None:
    engine = Mirrored(num_blocks=BLOCKS, block_size=SIZE)
    request = engine.submit(array("I", tokens(7, 9)), max_tokens=30)
    engine.step(10)
    before = len(engine.sealed)
    later = engine.submit(5, max_tokens=25)
    engine.step(5)
    after = len(engine.sealed)
    engine.engine.keyframe()
    engine.mirror()
    engine.step(5)
    encoder = Encoder(BLOCKS)
    frames = [frame for sealed in engine.sealed[:before] for _, frame in encoder.encode(sealed)]
    first = encoder.record + 1
    for sealed in engine.sealed[before:after]:
        encoder.lose(sealed)
    frames.append(encoder.gap(first, "a test")[1])
    frames += [frame for sealed in engine.sealed[after:] for _, frame in encoder.encode(sealed)]
    session = sent(server, frames, parts=1)
    whole = request.live[0].tokens[9:].tolist()
    lost = sum(isinstance(sealed, SealedStep) for sealed in engine.sealed[before:after])
    answer = told(server, session, request.live[0].id)
    assert answer["tokens"] == whole[:10] + whole[10 + lost :]
    assert answer["gaps"] == [[first, first + lost - 1]]
    # What was submitted in the gap is known by the keyframe behind it.
    other = told(server, session, later.live[0].id)
    assert (other["request"], other["prompt"]) == (later.id, None)
    assert "the prompt is not recorded" in other["why"]
    assert other["tokens"] == later.live[0].tokens[5:].tolist()[-5:]


def test_a_live_session_is_told_up_to_its_last_step(run: Run, server: RunningServer) -> None:
    frames = run.frames()
    record = next(iter(sorted(run.truth)[80:]))
    with server.engine(hello(num_blocks=BLOCKS, block_size=SIZE)) as engine:
        engine.send([frame for frame in frames if record_of(frame) <= record + 1])
        wait_for(lambda: server.hub.live[engine.hello.session].last_record >= record + 1)
        for sequence, (_, _, prompt, sampled) in run.truth[record].items():
            answer = told(server, engine.hello.session, sequence)
            assert (answer["prompt"], answer["tokens"]) == (prompt, sampled)
            assert answer["record"] == record + 1


def test_the_pieces_of_a_prompt_are_told_with_how_far_they_go(server: RunningServer) -> None:
    engine = Mirrored(num_blocks=BLOCKS, block_size=SIZE)
    vocabulary = engine.engine.runner.vocabulary
    assert vocabulary is not None
    engine.submit(array("I", vocabulary.encode("Hé, pool!")), max_tokens=2)
    engine.run()
    encoder = Encoder(BLOCKS, pieces=vocabulary)
    frames = [frame for sealed in engine.sealed for _, frame in encoder.encode(sealed)]
    session = sent(server, frames, parts=1)
    answer = server.get(f"/sessions/{session}/pieces")
    assert answer["indexed_record"] == record_of(frames[-1])
    prompt = told(server, session, 0)["prompt"]
    assert "".join(answer["pieces"][str(token)] for token in prompt) == "H<0xC3><0xA9>, pool!"
    assert codec.peek(frames[-1])[0] in ("step", "text")
