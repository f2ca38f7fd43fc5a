"""The page that is exported: what goes into it, and what is refused with what to do."""

import base64
import json
import shutil
import sqlite3
import zlib
from pathlib import Path

import pytest

from kvarium.errors import KvariumError, OutOfRangeError
from kvarium.exchange import page_plan
from kvarium.exchange.page import export_page
from kvarium.exchange.page_plan import plan_page
from kvarium.recording.reader import Reader
from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Keyframe
from tests.backend.hand_engine import decoded
from tests.backend.running_server import RunningServer
from tests.backend.server_process import kvarium
from tests.plain_state import plain_state

pytestmark = pytest.mark.usefixtures("built_page")


def parts_of(page: Path) -> dict[str, bytes]:
    """The parts of a page by their names, opened."""
    found = {}
    for element in page.read_text().split('<script type="application/octet-stream" data-part="')[1:]:
        name, rest = element.split('">', 1)
        data = base64.b64decode(rest.split("</script>", 1)[0])
        found[name] = data if name == "about" else zlib.decompress(data)
    return found


def written(reader: Reader, place: Path, *steps: int) -> dict[str, bytes]:
    export_page(reader, plan_page(reader, 1, *steps), place, lambda done, total: None)
    return parts_of(place)


def test_the_page_holds_every_frame_as_it_is_stored(mixed_reader: Reader, tmp_path: Path) -> None:
    parts = written(mixed_reader, tmp_path / "x.html")
    index = json.loads(parts["index"])
    frames = [
        frame
        for number in range(len(index["frames"]["first"]))
        for frame in codec.unpack(parts[f"frames-{number}"])
    ]
    assert frames == [frame.bytes for frame in mixed_reader.frames(1)]
    assert json.loads(parts["about"])["part"] is None
    assert json.loads(parts["steps-0"]) == mixed_reader.steps(1)


def test_a_part_begins_with_the_state_of_the_whole_under_its_number(
    mixed_reader: Reader, tmp_path: Path
) -> None:
    parts = written(mixed_reader, tmp_path / "x.html", 200, 220)
    state = codec.open_frame(parts["keyframe-0"])
    assert isinstance(state, Keyframe)
    fold, whole = (Fold(128, 16) for _ in range(2))
    fold.apply(state)
    for frame in mixed_reader.frames(1, -1, state.record):
        whole.apply(decoded(frame.bytes))  # type: ignore[arg-type]
    assert plain_state(fold) == plain_state(whole)
    assert json.loads(parts["index"])["frames"]["first"][0] == state.record + 1
    assert json.loads(parts["steps-0"])["step"] == list(range(200, 221))


def test_steps_that_cannot_be_are_refused(mixed_reader: Reader) -> None:
    with pytest.raises(OutOfRangeError, match=r"^step 9999 is not in the recording"):
        plan_page(mixed_reader, 1, 9999)


def test_a_page_that_is_too_large_is_refused_with_a_part_that_fits(
    mixed_reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = plan_page(mixed_reader, 1)
    monkeypatch.setattr(page_plan, "MOST_BYTES", whole.about_bytes // 2)
    with pytest.raises(KvariumError, match=r"its last \d+ steps are those from step \d+ on") as refused:
        plan_page(mixed_reader, 1)
    step = int(str(refused.value).split("from step ")[1].split()[0])
    assert plan_page(mixed_reader, 1, step).about_bytes <= page_plan.MOST_BYTES


def test_a_damaged_recording_is_refused_and_leaves_nothing(mixed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "damaged.db"
    shutil.copy(mixed, copy)
    connection = sqlite3.connect(copy)
    with connection:
        connection.execute(
            "UPDATE chunk SET checksum = checksum + 1 WHERE first = (SELECT max(first) FROM chunk)"
        )
    connection.close()
    done = kvarium("export", str(copy), "--format", "html", "-o", str(tmp_path / "x.html"))
    assert done.returncode == 1 and "the chunk of records" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(found.name for found in tmp_path.iterdir()) == ["damaged.db"]


def test_a_live_session_is_copied_as_far_as_it_is_committed(
    server: RunningServer, frames: list[bytes], db: Path, tmp_path: Path
) -> None:
    with server.engine() as engine:
        engine.send(frames)
        engine.wait_acked(len(frames) - 1)
        place = tmp_path / "live.html"
        done = kvarium("export", engine.hello.session, "--db", str(db), "--format", "html", "-o", str(place))
        assert done.returncode == 0, done.stderr
    parts = parts_of(place)
    index = json.loads(parts["index"])
    assert index["last_record"] == len(frames) - 1
    assert json.loads(parts["about"])["session"]["state"] == "interrupted"


def test_a_session_without_a_step_is_refused(server: RunningServer, db: Path, tmp_path: Path) -> None:
    with server.engine() as engine:
        place = tmp_path / "empty.html"
        done = kvarium("export", engine.hello.session, "--db", str(db), "--format", "html", "-o", str(place))
    assert done.returncode == 1 and "holds no step" in done.stderr
    assert not place.exists()
