"""The page that is exported: what goes into it, and what is refused with what to do."""

import base64
import contextlib
import json
import shutil
import sqlite3
import zlib
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from kvarium import terminal
from kvarium.errors import KvariumError, OutOfRangeError
from kvarium.exchange import page_plan
from kvarium.exchange.page import export_page, template
from kvarium.exchange.page_answers import Answers, derive_answers
from kvarium.exchange.page_plan import Plan, plan_page
from kvarium.recording.careers import MAX_ROWS, read_careers
from kvarium.recording.chunks import open_frames
from kvarium.recording.database import open_for_reading
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium.why.answers import answer
from kvarium.why.past import Past
from kvarium.why.questions import link_of, question_of
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
    export_page(reader, plan_page(reader, 1, *steps), place, lambda done, total: None, Answers())
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
        done = kvarium(
            "export",
            engine.hello.session,
            "--db",
            str(db),
            "--format",
            "html",
            "--answers",
            "0",
            "-o",
            str(place),
        )
        assert done.returncode == 0, done.stderr
    parts = parts_of(place)
    index = json.loads(parts["index"])
    assert index["last_record"] == len(frames) - 1
    assert json.loads(parts["about"])["session"]["state"] == "interrupted"


def test_a_session_without_a_step_is_refused(server: RunningServer, db: Path, tmp_path: Path) -> None:
    with server.engine() as engine:
        place = tmp_path / "empty.html"
        done = kvarium(
            "export",
            engine.hello.session,
            "--db",
            str(db),
            "--format",
            "html",
            "--answers",
            "0",
            "-o",
            str(place),
        )
    assert done.returncode == 1 and "holds no step" in done.stderr
    assert not place.exists()


class Derived(NamedTuple):
    """A few answers of each kind, which chunks were opened for them (and whether with text), and the progress that was told."""

    reader: Reader
    plan: Plan
    answers: Answers
    opened: list[tuple[int, bool]]
    progress: list[tuple[int, int]]


@pytest.fixture(scope="module")
def derived(mixed: Path) -> Derived:
    """Of a page of the last steps."""
    reader = Reader(open_for_reading(str(mixed)))
    plan = plan_page(reader, 1, int(reader.session(1)["last_step"]) - 60)
    opened: list[tuple[int, bool]] = []
    progress: list[tuple[int, int]] = []

    def counted(row: Row, what: str, with_text: bool = True) -> list[bytes]:
        opened.append((row["first"], with_text))
        return open_frames(row, what, with_text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kvarium.recording.reader.open_frames", counted)
        answers = derive_answers(reader, plan, 12, lambda *each: progress.append(each))
    return Derived(reader, plan, answers, opened, progress)


@pytest.fixture(scope="module")
def answered(
    derived: Derived, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Reader, dict[str, bytes], Plan]:
    """A page with them."""
    place = tmp_path_factory.mktemp("answered") / "x.html"
    export_page(derived.reader, derived.plan, place, lambda done, total: None, derived.answers)
    return derived.reader, parts_of(place), derived.plan


def test_answers_in_a_page_are_those_of_the_module_by_their_links(
    answered: tuple[Reader, dict[str, bytes], Plan],
) -> None:
    reader, parts, plan = answered
    table = json.loads(parts["answers"])
    with contextlib.closing(Seeker(reader)) as seeker:
        past = Past(reader, seeker, 1)
        kinds: dict[str, list[str]] = {}
        for link in table:
            question = question_of(link)
            assert question is not None and link_of(question) == link
            kinds.setdefault(str(question.__struct_config__.tag), []).append(link)
        assert {"findings", "evicted", "memory", "leaks", "missed"} <= set(kinds)
        for links in kinds.values():
            for link in (links[0], links[-1]):
                question = question_of(link)
                assert question is not None
                assert table[link] == json.loads(msgspec.json.encode(answer(past, question)))
    end = int(plan.row["last_step"])
    assert table["why/memory"] == table[f"why/memory?step={end}"]
    named = [each["link"] for one in table["findings"]["findings"] for each in one["evidence"]]
    assert {link for link in named if link is not None and link.startswith("why/")} <= set(table)


def test_a_page_takes_about_as_much_as_was_said(mixed_reader: Reader, tmp_path: Path) -> None:
    place = tmp_path / "x.html"
    written(mixed_reader, place)
    about = plan_page(mixed_reader, 1).about_bytes + len(template())
    assert 0.8 < place.stat().st_size / about < 1.25


def test_progress_is_told_in_lines_where_no_terminal_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "LINE_SECONDS", 0.0)
    with terminal.progress_bar("exporting", lines=True) as progress, terminal.progress_bar("verifying") as no:
        progress(3, 2000)
        no(1, 2)
    assert capsys.readouterr().err == "exporting: 3 of 2,000\n"


def test_answers_of_one_page_open_each_chunk_once(derived: Derived) -> None:
    assert derived.answers.kinds["memory"].answered > 3
    assert len(derived.opened) == len(set(derived.opened)) > 0


def test_progress_of_answers_goes_on_to_the_end(derived: Derived) -> None:
    told = derived.progress
    assert told == sorted(told) and told[0][0] == 0 and told[-1][0] == told[-1][1]
    assert len({total for _, total in told}) == 1


def test_a_page_says_how_many_of_how_many_questions_it_answers(
    answered: tuple[Reader, dict[str, bytes], Plan],
) -> None:
    _, parts, plan = answered
    kinds = json.loads(parts["about"])["answers"]
    told = [json.loads(parts["answers"])[link] for link in json.loads(parts["answers"]) if "evicted" in link]
    assert kinds["evicted"]["answered"] == len(told)
    assert 0 < kinds["evicted"]["answered"] < kinds["evicted"]["of"]
    assert plan.part is not None
    assert kinds["memory"]["of"] == plan.part.to_step - plan.part.from_step + 1


def test_no_answers_are_made_where_none_are_asked_for(mixed_reader: Reader, tmp_path: Path) -> None:
    parts = written(mixed_reader, tmp_path / "x.html", 200, 220)
    assert "answers" not in parts and json.loads(parts["about"])["answers"] == {}
    refused = kvarium("export", str(tmp_path / "x.db"), "--format", "jsonl", "--answers", "3")
    assert refused.returncode == 2 and "--answers belongs to --format html" in refused.stderr


def test_careers_in_a_page_are_those_of_its_steps(mixed_reader: Reader, tmp_path: Path) -> None:
    columns = json.loads(written(mixed_reader, tmp_path / "x.html", 200, 220)["careers"])
    told = read_careers(mixed_reader, 1, 200, 220, 220, 0, MAX_ROWS, None)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert sorted(rows, key=lambda row: row["request"]) == sorted(
        told["requests"], key=lambda row: row["request"]
    )
    assert len(rows) == told["total"] > 0
