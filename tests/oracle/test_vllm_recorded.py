"""vLLM's ledger goes to a real server as any engine's does: recorded, mirrored, and verified from the database."""

from __future__ import annotations

from pathlib import Path

from vllm import __version__ as vllm_version

from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium.verify import verify
from tests.backend.hand_engine import hello, record_of
from tests.backend.running_server import running
from tests.oracle.scenario import generate
from tests.oracle.test_vllm_ledger import Alone


def test_a_server_records_vllm_and_its_recording_is_verified(tmp_path: Path) -> None:
    alone = Alone(generate(9, "fcfs", 20))
    counts = alone.run()
    frames = alone.foreign.frames
    greeting = hello(
        engine=f"vllm {vllm_version}",
        num_blocks=alone.foreign.pool.num_gpu_blocks,
        block_size=alone.scenario.block_size,
        config={"prefix_caching_hash_seed": alone.scenario.hash_seed, "max_num_seqs": alone.scenario.seqs},
    )
    with running(tmp_path / "recording.db") as server:
        engine = server.engine(greeting)
        for start in range(0, len(frames), 100):
            part = frames[start : start + 100]
            engine.send(part)
            engine.wait_acked(record_of(part[-1]))
        engine.bye()
        server.wait_indexed(greeting.session, record_of(frames[-1]))
    database = open_for_reading(str(tmp_path / "recording.db"))
    try:
        findings = verify(Reader(database), 1)
    finally:
        database.close()
    assert findings.messages == []
    assert (findings.verdict, findings.records) == ("verified", len(frames))
    assert findings.operations == counts["block operations"] > 100
