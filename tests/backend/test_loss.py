"""A recording that can't be written: told on the terminal, by the API, in the exit status and in the recording."""

import json
import re
import time
from functools import partial
from pathlib import Path

import pytest

from kvarium import hub
from kvarium.recording.reader import Reader
from kvarium.recording.writer import Writer
from kvarium.verify import verify
from tests.backend.hand_engine import hand_frames, record_of
from tests.backend.recorder import Recorder, locked, notes
from tests.backend.running_server import running, wait_for
from tests.backend.server_process import kvarium, serving


@pytest.mark.usefixtures("impatient")
def test_a_fault_and_its_end_are_told(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frames = hand_frames(60)
    with running(db) as server, server.engine() as engine:
        engine.send(frames[:20])
        engine.wait_acked(19)
        assert server.get("/health")["ok"] is True
        with locked(db):
            engine.send(frames[20:])
            wait_for(lambda: server.http.get("/api/health").status_code == 503)
            told = server.http.get("/api/health").json()
            assert told["ok"] is False
            assert "database is locked" in told["reason"]
            row = server.get(f"/sessions/{engine.hello.session}")
            assert "not recorded from record 20 on" in row["recording_error"]
        engine.wait_acked(record_of(frames[-1]))
        wait_for(lambda: server.http.get("/api/health").status_code == 200)
        assert server.get(f"/sessions/{engine.hello.session}")["recording_error"] is None
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"kvarium: can't write the recording {db}: database is locked; ")
    assert first.endswith("end the program that holds it")
    assert second == f"kvarium: the recording {db} can be written again: nothing was lost"


@pytest.mark.usefixtures("impatient")
def test_what_an_outage_took_is_told_from_which_record_on(
    db: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "Writer", partial(Writer, memory_bytes=50_000))
    with running(db) as server, server.engine() as engine:
        engine.send(hand_frames(30)[:20])
        engine.wait_acked(19)
        with locked(db):
            for frame in notes(20, 400):
                engine.send([frame])
                if server.hub.lost_records:
                    break
                time.sleep(0.05)
            lost = server.hub.lost_records
            assert lost > 0
        wait_for(lambda: server.http.get("/api/health").status_code == 200)
        assert server.get(f"/sessions/{engine.hello.session}")["lost"] >= lost
    told = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        rf"kvarium: the recording {re.escape(str(db))} can be written again: [0-9]+ records of session "
        rf"{engine.hello.session[:8]} from record 20 on are lost to it",
        told[1],
    ), told


def test_a_file_that_is_gone_is_told_and_is_a_loss_at_the_end(db: Path) -> None:
    frames = hand_frames(30)
    with serving(db) as server:
        engine = server.engine()
        engine.send(frames[:20])
        engine.wait_acked(19)
        db.unlink()
        engine.send(frames[20:])
        server.wait_line("is gone")
        with server.http() as http:
            assert http.get("/api/health").json()["ok"] is False
        server.interrupt()
        assert server.wait() == 1
        engine.close()
        assert server.errors[-1] == (
            f"kvarium: {len(frames) - 20} records of session {engine.hello.session[:8]} from record 20 on "
            f"could not be written to {db}: they are lost"
        )
        assert "Traceback" not in server.text


def test_what_was_lost_in_the_middle_is_told_by_the_recording(db: Path) -> None:
    recorder = Recorder(db, memory_bytes=50_000)
    recorder.overfill()
    recorder.limit_pages(None)
    # It is told as soon as it can be, though nothing more comes.
    wait_for(lambda: recorder.faults[-1] is None)
    reader = Reader(recorder.database)
    lost = reader.session(1)["lost"]
    assert lost == recorder.writer.lost_records > 0
    findings = verify(reader, 1)
    assert (findings.verdict, findings.violations, findings.gaps) == ("INCOMPLETE", 0, 1)
    recorder.close()
    done = kvarium("verify", "--db", str(db), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["gaps"] == 1
    assert kvarium("verify", "--db", str(db)).stdout.startswith("INCOMPLETE: ")


def test_what_was_lost_at_the_end_is_told_by_the_recording(db: Path) -> None:
    recorder = Recorder(db, memory_bytes=50_000)
    recorder.append(recorder.fill_the_disk()[30:])
    wait_for(lambda: bool(recorder.faults))
    assert recorder.writer.stop()
    assert recorder.writer.lost_records == 31
    recorder.limit_pages(None)
    reader = Reader(recorder.database)
    # A row is changed in place: that fits on a disk that is full.
    assert reader.session(1)["lost"] == 31
    findings = verify(reader, 1)
    assert (findings.verdict, findings.messages) == (
        "INCOMPLETE",
        ["31 records after record 29 are lost: they could not be written"],
    )
    recorder.database.close()
