"""``python -m tests.vectors.make`` writes the vectors again; a test fails when they are not what this makes.

``NAME.frames`` holds a session's frames (a ``keyframe``, then the records), each with its length before it.
``NAME.json`` holds ``num_blocks``, ``block_size`` and ``states``: what a fold is after some of the records.
``NAME.within.json`` is what it is within some of them, behind one of their operations.

``version-N`` holds vectors of an earlier version of the ledger: nothing makes them any more, and they are read for ever.
"""

import json
import random
from pathlib import Path

from kvarium_engine.engine import Engine, EngineConfig
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.workload.mix import Mix
from kvarium_ledger import codec
from kvarium_ledger.encoder import Encoder
from kvarium_ledger.fold import Fold
from kvarium_ledger.ledger import Ledger, Sealed
from kvarium_ledger.records import Record, Step
from tests.ledger.hand_pool import HandPool
from tests.ledger.test_fold import first_keyframe
from tests.plain_state import plain_state

FOLDER = Path(__file__).parent


def hand_session() -> tuple[int, int, list[bytes]]:
    """Random lawful operations of every kind, pins among them, on 24 blocks of 4 slots."""
    sealed: list[Sealed] = []
    pool = HandPool(Ledger(sealed.append, clock=lambda: 0), random.Random(11), 24, 4)
    pool.ledger.keyframe(first_keyframe())
    for _ in range(40):
        pool.step(pool.rng.randint(0, 10))
    encoder = Encoder(24)
    return 24, 4, [frame for item in sealed for _, frame in encoder.encode(item)]


def engine_session() -> tuple[int, int, list[bytes]]:
    """The real engine under the seeded mix, on 48 blocks of 16: a pool so small that all happens within 60 steps."""
    limits = SchedulerConfig(256, 8, 48 * 16, "fcfs")
    return _under_the_mix(EngineConfig(48, 16, limits, audit_interval=7), seed=43)


def contiguous_session() -> tuple[int, int, list[bytes]]:
    """The same with contiguous memory, on 48 blocks of 8: runs are taken from the middle of the queue."""
    limits = SchedulerConfig(64, 8, 160, "fcfs")
    return _under_the_mix(
        EngineConfig(
            48,
            8,
            limits,
            enable_prefix_caching=False,
            audit_interval=7,
            memory_backend="contiguous",
            reserve="power-of-two",
        ),
        seed=2,
    )


def _under_the_mix(config: EngineConfig, seed: int) -> tuple[int, int, list[bytes]]:
    sealed: list[Sealed] = []
    engine = Engine(config, NullRunner(0, 0.0, 40), Ledger(sealed.append, clock=lambda: 0))
    mix = Mix(config.num_blocks, config.block_size, config.scheduler.max_num_seqs, seed)
    for _ in range(60):
        mix.feed(engine)
        engine.step()
    encoder = Encoder(config.num_blocks)
    return (
        config.num_blocks,
        config.block_size,
        [frame for item in sealed for _, frame in encoder.encode(item)],
    )


def joined_session() -> tuple[int, int, list[bytes]]:
    """The engine's again, as one gets it who joins in its middle: a follower's keyframe, and what comes after it."""
    num_blocks, block_size, frames = engine_session()
    fold = Fold(num_blocks, block_size)
    half = len(frames) // 2
    for frame in frames[:half]:
        fold.apply(codec.open_frame(frame))  # type: ignore[arg-type]
    return num_blocks, block_size, [codec.seal(fold.keyframe()), *frames[half:]]


SESSIONS = {
    "hand": hand_session,
    "engine": engine_session,
    "contiguous": contiguous_session,
    "joined": joined_session,
}


def vector(name: str) -> tuple[bytes, str]:
    """The two files of a vector."""
    num_blocks, block_size, frames = SESSIONS[name]()
    fold = Fold(num_blocks, block_size)
    states = []
    for i, frame in enumerate(frames):
        record = codec.open_frame(frame)
        assert isinstance(record, Record)
        assert fold.apply(record) == []  # type: ignore[arg-type]
        if i % 8 == 0 or i == len(frames) - 1:
            states.append(plain_state(fold))
    told = {"num_blocks": num_blocks, "block_size": block_size, "states": states}
    return codec.pack(frames), json.dumps(told, separators=(",", ":")) + "\n"


def states_within(num_blocks: int, block_size: int, frames: list[bytes]) -> str:
    """What a fold is within some of the records, as JSON: at another place in each, from its beginning to its last operation."""
    fold = Fold(num_blocks, block_size)
    states = []
    for i, frame in enumerate(frames):
        record = codec.open_frame(frame)
        fold.apply(record)  # type: ignore[arg-type]
        if i % 7 == 0 and isinstance(record, Step) and record.operations.kind:
            fold.stand(record, record.op + i // 7 * 5 % len(record.operations.kind))
            states.append(plain_state(fold))
            fold.stand(record, fold.op + fold.rest)
    return json.dumps(states, separators=(",", ":")) + "\n"


def main() -> None:
    """Write every vector."""
    for name in SESSIONS:
        frames, states = vector(name)
        (FOLDER / f"{name}.frames").write_bytes(frames)
        (FOLDER / f"{name}.json").write_text(states)
        told = json.loads(states)
        within = states_within(told["num_blocks"], told["block_size"], codec.unpack(frames))
        (FOLDER / f"{name}.within.json").write_text(within)


if __name__ == "__main__":
    main()
