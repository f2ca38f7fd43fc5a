"""Records that are not what an engine writes: refused or reported by everyone who reads them, and nobody dies of one."""

import random
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from kvarium_ledger import codec, records
from kvarium_ledger.fold import Fold
from kvarium_ledger.messages import Answer, Bye, Health, Rejected, Welcome
from kvarium_ledger.records import Keyframe
from tests.backend.frame_mutations import SHAPES, mutate
from tests.backend.hand_engine import BLOCKS, SIZE, hand_frames, hello, record_of
from tests.backend.running_server import TOKEN, RunningServer
from tests.backend.trials import run_trials


@pytest.fixture(scope="module")
def lawful(frames: list[bytes]) -> list[bytes]:
    """Records of every type whose state matters, with a keyframe of a full state to begin with."""
    fold = Fold(BLOCKS, SIZE)
    for frame in frames[:200]:
        fold.apply(codec.open_frame(frame))  # type: ignore[arg-type]
    return [codec.seal(fold.keyframe()), *frames[200:400]]


@pytest.mark.timeout(4000)
def test_mutated_frames_are_refused_or_reported_by_codec_recorder_fold_and_mirror(
    lawful: list[bytes], tmp_path: Path, size: str, seed: int
) -> None:
    count = 500 if size == "small" else 10_000
    file = tmp_path / "frames"
    file.write_bytes(codec.pack(lawful))
    told = run_trials("tests.backend.frame_mutations", file, seed, count, 100 if size == "small" else 1400)
    outcomes = told["done"]
    for name in ("codec", "recorder", "fold", "mirror"):
        assert sum(found for outcome, found in outcomes.items() if outcome.startswith(name)) == count
    assert (
        min(outcomes["fold: refused"], outcomes["fold: violation"], outcomes["mirror: fault"]) > count // 20
    )
    assert told["max_rss"] < 300 << 20


def test_what_may_be_mutated_is_all_that_records_have() -> None:
    assert set(SHAPES["Step"]) == {field.encode_name for field in msgspec.structs.fields(records.Step)}
    assert {"Operations", "Contents", "BlockColumns", "Submitted", "Logprobs"} <= SHAPES.keys()


def test_a_server_that_is_sent_mutated_frames_refuses_them_with_a_reason_and_serves_the_others(
    server: RunningServer, lawful: list[bytes], rng: random.Random, size: str
) -> None:
    good = server.engine()
    frames = hand_frames(40)
    good.send(frames[:20])
    told: Counter[str] = Counter()
    for _ in range(40 if size == "small" else 400):
        told[talk(server, lawful, rng)] += 1
    assert min(told["refused"], told["recorded"]) > 3, told
    assert set(told) <= {"refused", "recorded", "taken"}, told
    good.send(frames[20:])
    good.wait_acked(record_of(frames[-1]))
    good.bye()
    server.wait_indexed(good.hello.session, record_of(frames[-1]))
    row = server.get(f"/sessions/{good.hello.session}")
    assert (row["state"], row["violations"]) == ("ended", 0)
    assert server.get("/health")["ok"] is True


def talk(server: RunningServer, lawful: list[bytes], rng: random.Random) -> str:
    """An engine that sends something mutated: its hello, a record, or a message; what the server said to it."""
    keyframe = codec.open_frame(lawful[0])
    assert isinstance(keyframe, Keyframe)
    first = codec.seal(msgspec.structs.replace(keyframe, record=0))
    messages = [codec.seal(each) for each in (Health(time=1), Answer(id="x"), Bye(reason="done"))]
    record = msgspec.structs.replace(codec.open_frame(rng.choice(lawful[1:])), record=1)  # type: ignore[type-var]
    sent = [codec.seal(hello()), first, rng.choice([codec.seal(record), codec.seal(record), *messages])]
    at = rng.choice((0, 1, 2, 2))
    sent[at] = mutate(sent[at], rng)[1]
    with connect(
        f"{server.ws}/api/engine",
        additional_headers={"Authorization": f"Bearer {TOKEN}"},
        compression=None,
        max_size=None,
        proxy=None,
        open_timeout=60,
    ) as connection:
        try:
            for frame in sent:
                connection.send(frame)
            connection.send(codec.seal(Bye(reason="done")))
            while True:
                raw = connection.recv(timeout=5.0)
                assert isinstance(raw, bytes)
                answer = codec.open_frame(raw)
                if isinstance(answer, Rejected):
                    assert answer.reason
                    assert "\n" not in answer.reason
                    return "refused"
                if not isinstance(answer, Welcome):
                    return "recorded"
        except TimeoutError:
            return "taken"
        except ConnectionClosed as closed:
            return "refused" if closed.rcvd is not None and closed.rcvd.code == 4400 else f"closed: {closed}"
