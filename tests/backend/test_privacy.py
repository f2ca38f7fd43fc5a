"""A secret goes through every door of an engine: without text it is nowhere in the recording, for viewers, in answers and in SQL.

With ``--record-text full`` the same search finds it in all of these places, so that it can be seen to search.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import httpx2
import numpy as np
import pytest

from kvarium.recording.database import open_for_reading
from kvarium.recording.export import export_session
from kvarium.recording.reader import Reader
from kvarium.recording.stripping import Strip
from kvarium.sql.schema import TABLES
from kvarium_engine.model.null_runner import Bytes
from kvarium_ledger import codec
from kvarium_ledger.hashes import block_hash, root_hash
from kvarium_ledger.messages import Hello
from kvarium_ledger.records import Control, Note, Prompt, Record, Step, Text
from tests.backend.running_server import Watch, wait_for
from tests.backend.server_process import ServerProcess, kvarium, process
from tests.backend.sql_answers import ask
from tests.backend.test_page import parts_of

WORD = "zanzibar-pepper-and-saffron"
SIZE = 4
REMARK = "a note of mine"
IDS = Bytes().encode(WORD)

SUBMISSIONS: list[tuple[dict[str, Any], int]] = [
    ({"prompt": WORD, "max_tokens": 2, "name": "first"}, 200),
    ({"prompt": WORD, "max_tokens": 2, "name": "again"}, 200),
    ({"prompt": "another one, as long as it", "max_tokens": 2, "name": "another"}, 200),
    ({"prompt_tokens": IDS, "max_tokens": 2}, 200),
    ({"prompt": "how now", "max_tokens": 2, "stop": [WORD], "stop_token_ids": IDS}, 200),
    ({"prompt": "how now", "max_tokens": 2, "stop": WORD}, 200),
    ({"prompt": WORD, "max_tokens": 2, "cache_salt": WORD}, 200),
    ({"prompt": WORD * 20, "max_tokens": 2}, 200),
    ({"prompt": WORD, "max_tokens": 2, "logprobs": 2}, 422),
    ({"prompt": WORD, "chat": True, "system": WORD}, 422),
    ({"prompt": "how now", "follow": WORD}, 422),
    ({"prompt": "how now", "chat": True, "follow": WORD}, 422),
    ({"prompt": "how now", "max_tokens": 2, "beam_width": 2, "n": 2, "stop": [WORD]}, 422),
    ({"prompt": WORD, WORD: 1}, 422),
]
"""What is asked for, and how it is answered: prompts, stops, a salt, one that never fits, and all ways to be refused."""


def needles() -> dict[str, bytes]:
    """What is not to be found: the word, its tokens in a record and as JSON, and the hashes of its blocks as a vLLM has them."""
    found = {
        "word": WORD.encode(),
        "tokens": np.array(IDS, dtype="<u4").tobytes(),
        "tokens of a block": np.array(IDS[SIZE : 2 * SIZE], dtype="<u4").tobytes(),
        "tokens as JSON": ",".join(map(str, IDS[:SIZE])).encode(),
    }
    for keys in (None, [["cache_salt", WORD]]):
        value = root_hash("0")
        for number in range(len(IDS) // SIZE):
            extra = keys if number == 0 else None
            value = block_hash(value, IDS[number * SIZE : (number + 1) * SIZE], extra)
            found[f"hash {number} {keys}"] = value
            found[f"hash {number} {keys}, in digits"] = value.hex().encode()
    return found


def seen(data: Iterable[bytes]) -> set[str]:
    """Which needles stand somewhere in ``data``; blanks in JSON are left out."""
    everything = b"\0".join(data)
    dense = everything.replace(b" ", b"")
    return {what for what, needle in needles().items() if needle in everything or needle in dense}


def stored(path: Path) -> Iterator[bytes]:
    """All that a recording holds: its files as they are, every value of its tables, every frame of its chunks."""
    for file in path.parent.glob(f"{path.name}*"):
        if file.is_file():
            yield file.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in connection.execute(f"SELECT * FROM {table}"):
                yield from (value if isinstance(value, bytes) else str(value).encode() for value in row)
    with closing(open_for_reading(str(path))) as database:
        reader = Reader(database)
        for row in reader.sessions():
            yield from (frame.bytes for frame in reader.frames(row["number"]))
            yield from (reader.open_keyframe(each).frame for each in reader.keyframe_rows(row["number"]))


def answered(path: Path) -> Iterator[bytes]:
    """All rows of all tables of SQL."""
    with closing(open_for_reading(str(path))) as database:
        reader = Reader(database)
        for table in TABLES:
            yield json.dumps(
                [[str(value) for value in row] for row in ask(reader, f"SELECT * FROM {table}")]
            ).encode()


def told(http: httpx2.Client, session: str) -> Iterator[bytes]:
    """All that the API tells of a session."""
    requests = http.get(f"/api/sessions/{session}/requests").json()["requests"]
    places = [
        "",
        "/hello",
        "/frames?after=-1",
        "/seek?step=1",
        "/steps",
        "/landmarks",
        "/requests",
        "/pieces",
        "/notes",
    ]
    places += [f"/requests/{row['request']}/tokens" for row in requests]
    places += ["/contents?" + "&".join(f"content={number}" for number in range(40))]
    for place in places:
        answer = http.get(f"/api/sessions/{session}{place}")
        assert answer.status_code == 200, (place, answer.text)
        yield answer.content


def told_everything(server: ServerProcess) -> tuple[str, list[bytes], list[bytes]]:
    """The session through whose doors the word went: its id, the frames of a viewer and the answers of the API."""
    with server.http() as http:
        row = http.get("/api/sessions").json()["sessions"][0]
        session = row["id"]
        with Watch(f"{server.url.replace('http', 'ws')}/api/sessions/{session}/live") as watch:
            for args, status in SUBMISSIONS:
                asked = {"name": "submit", "args": args}
                answer = http.post(f"/api/sessions/{session}/commands", json=asked)
                assert answer.status_code == status, (args, answer.text)
            ended = {"finished", "refused"}

            def rows() -> list[dict[str, Any]]:
                found: list[dict[str, Any]] = http.get(f"/api/sessions/{session}/requests").json()["requests"]
                return found

            wait_for(lambda: len(rows()) == 8 and all(each["state"] in ended for each in rows()))
            noted = http.post(f"/api/sessions/{session}/notes", json={"step": 1, "text": REMARK})
            assert noted.status_code == 201, noted.text
            last = http.get(f"/api/sessions/{session}").json()["last_record"]
            watch.until(lambda found: isinstance(found, Record) and found.record >= last)
            answers = list(told(http, session))
    return session, watch.frames, answers


class Recorded:
    """A session into which the word was told, recorded with ``record_text``: what each onlooker got of it."""

    def __init__(self, path: Path, record_text: str) -> None:
        self.path = path
        options = ("--num-gpu-blocks-override", "64", "--block-size", str(SIZE), "--no-mix", "--step-ms", "1")
        more = ("--record-text", record_text) if record_text != "full" else ()
        serve = ("serve", "--port", "0", "--db", str(path), *options, *more)
        with process(*serve, PYTHONHASHSEED="0") as server:
            server.wait_ready()
            server.wait_line("engine linked")
            self.session, self.frames, self.answers = told_everything(server)
            with server.http() as http:
                self.guessed = http.get(
                    f"/api/sessions/{self.session}/events", params={"filter": "hash:0,1,2,3,4,5,6,7"}
                )
            self.files = list(stored(path))
            self.output = server.text.encode()
            server.interrupt()
            assert server.wait() == 0


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("full") / "recording.db", "full")


def records(path: Path) -> list[Record]:
    with closing(open_for_reading(str(path))) as database:
        reader = Reader(database)
        return [codec.open_frame(frame.bytes) for frame in reader.frames(1)]  # type: ignore[misc]


def prompts_of(found: Iterable[Record]) -> dict[int, Prompt]:
    return {each.request: each for record in found if isinstance(record, Text) for each in record.prompts}


def test_with_text_the_word_is_found_wherever_it_is_looked_for(full: Recorded) -> None:
    assert {"word", "tokens", "tokens of a block"} <= seen(full.frames)
    assert {"word", "tokens", "tokens of a block"} <= seen(full.files)
    assert {"word", "tokens as JSON"} <= seen(full.answers)
    assert {"word", "tokens as JSON"} <= seen(answered(full.path))
    assert full.guessed.json()["rows"]
    hashes = {what for what in seen(full.frames) if what.startswith("hash")}
    assert hashes, "a block that was missed is told by its hash"


@pytest.mark.parametrize("record_text", ["none", "hash"])
def test_without_text_the_word_is_nowhere(tmp_path: Path, record_text: str) -> None:
    found = Recorded(tmp_path / "recording.db", record_text)
    assert found.guessed.status_code == 422, "who guesses a hash learns nothing"
    assert "not recorded" in found.guessed.json()["detail"]
    assert seen([found.output]) == set()
    assert seen(found.frames) == set()
    assert seen(found.files) == set()
    assert seen(found.answers) == set()
    assert seen(answered(found.path)) == set()
    assert seen(stored(found.path)) == set()
    assert kvarium("verify", "--db", str(found.path)).returncode == 0
    greeting = codec.open_frame(found.frames[0])
    assert isinstance(greeting, Hello)
    assert greeting.record_text == record_text
    assert "prefix_caching_hash_seed" not in greeting.config
    everything = records(found.path)
    names = [record.args.get("name") for record in everything if isinstance(record, Control)]
    assert {"first", "again", "another"} <= set(names), "names are told"
    prompts = prompts_of(everything)
    if record_text == "none":
        assert not any(isinstance(record, Text) for record in everything)
        return
    hashes = [prompts[request].hash for request in range(8)]
    assert hashes[0] == hashes[1] == hashes[3] == hashes[6], "the same tokens, with a salt or without"
    assert hashes[4] == hashes[5]
    assert len(set(hashes)) == 4
    answer = json.loads(next(each for each in found.answers if b'"why"' in each))
    assert (answer["prompt"], answer["text"]) == (None, None)
    assert "not recorded" in answer["why"]


@pytest.mark.parametrize(("left", "notes"), [("none", False), ("hash", True)])
def test_an_export_without_text_is_the_same_session_and_the_word_is_nowhere(
    full: Recorded, tmp_path: Path, left: str, notes: bool
) -> None:
    copy = tmp_path / "copy.db"
    more = () if notes else ("--strip-notes",)
    done = kvarium("export", "--db", str(full.path), "--strip-text", left, *more, "-o", str(copy))
    assert done.returncode == 0, done.stderr
    assert seen(stored(copy)) == set()
    checked = kvarium("verify", "--db", str(copy))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    before, after = records(full.path), records(copy)
    assert [(each.record, type(each)) for each in before] == [(each.record, type(each)) for each in after]
    hashes: dict[int, list[bytes]] = {}
    for old, new in zip(before, after, strict=True):
        if isinstance(old, Step):
            assert isinstance(new, Step)
            assert (old.digest, old.operations) == (new.digest, new.operations)
            assert len(new.contents.hashes) * 4 == len(new.contents.content)
            hashes.setdefault(0, []).extend(new.contents.hashes)
    assert len(set(hashes[0])) == len(hashes[0]) > 5, "contents are told apart"
    prompts = prompts_of(after)
    if left == "hash":
        assert prompts[0].hash == prompts[6].hash != prompts[2].hash
    else:
        assert prompts == {}
    with closing(open_for_reading(str(copy))) as database:
        reader = Reader(database)
        row = reader.sessions()[0]
        assert (row["id"], reader.hello(1)[0].record_text) == (full.session, left)
        assert row["indexed_record"] == row["last_record"] == after[-1].record
        assert reader.pieces(1) == {}
    assert any(REMARK.encode() in each for each in stored(copy)) == notes


def test_a_copy_of_a_copy_has_hashes_that_cannot_be_compared_and_no_more_than_was_left(
    full: Recorded, tmp_path: Path
) -> None:
    copies = [tmp_path / f"{number}.db" for number in range(3)]
    lefts: list[Literal["none", "hash"]] = ["hash", "none", "hash"]
    for source, left, copy in zip([full.path, *copies], lefts, copies, strict=False):
        with closing(open_for_reading(str(source))) as database:
            made = export_session(Reader(database), 1, tmp_path, strip=Strip(left))
        made.rename(copy)
    assert kvarium("verify", "--db", str(copies[2])).returncode == 0
    told_hashes = [
        {value for each in records(copy) if isinstance(each, Step) for value in each.contents.hashes}
        for copy in copies
    ]
    assert len({len(each) for each in told_hashes}) == 1
    assert not told_hashes[0] & told_hashes[1]
    assert not told_hashes[1] & told_hashes[2]
    assert prompts_of(records(copies[2])) == {}
    with closing(open_for_reading(str(copies[2]))) as database:
        assert Reader(database).hello(1)[0].record_text == "none"


def test_the_download_leaves_text_out_too(full: Recorded, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with process("view", str(full.path), "--port", "0", "--no-open") as server:
        server.wait_ready()
        with server.http() as http:
            place = f"/api/sessions/{full.session}/download"
            answer = http.get(place, params={"strip_text": "hash", "strip_notes": "true"})
            assert answer.status_code == 200
            assert "-text-hash.db" in answer.headers["content-disposition"]
            copy.write_bytes(answer.content)
            assert http.get(place, params={"strip_text": "some"}).status_code == 422
            assert http.get(place, params={"strip_notes": "true"}).status_code == 422
    assert seen(stored(copy)) == set()
    assert not any(REMARK.encode() in each for each in stored(copy))
    assert not any(isinstance(each, Note) and each.text for each in records(copy))


def test_the_word_is_nowhere_in_lines_without_text(full: Recorded, tmp_path: Path) -> None:
    def exported(*options: str) -> set[str]:
        place = tmp_path / "lines.jsonl"
        done = kvarium("export", "--db", str(full.path), "--format", "jsonl", *options, "-o", str(place))
        assert done.returncode == 0, done.stderr
        assert [found.name for found in tmp_path.iterdir()] == [place.name]
        found = seen([place.read_bytes()])
        place.unlink()
        return found

    assert exported() != set()
    assert exported("--strip-text", "hash", "--strip-notes") == set()


@pytest.mark.usefixtures("built_page")
def test_the_word_is_in_no_answer_of_a_page_without_text(full: Recorded, tmp_path: Path) -> None:
    def answers(*options: str) -> bytes:
        place = tmp_path / f"{len(options)}.html"
        done = kvarium("export", "--db", str(full.path), "--format", "html", *options, "-o", str(place))
        assert done.returncode == 0, done.stderr
        return parts_of(place)["answers"]

    assert "word" in seen([answers()]), "of a miss the keys and the nearest text are told"
    left = answers("--strip-text", "hash")
    assert b"why/missed?of=r0" in left
    assert seen([left]) == set()


def test_notes_are_left_out_only_with_the_text(recorded: tuple[Path, str], tmp_path: Path) -> None:
    place = tmp_path / "copy"
    done = kvarium("export", "--db", str(recorded[0]), "--strip-notes", "-o", str(place))
    assert done.returncode != 0
    assert "--strip-notes belongs to --strip-text none or hash" in " ".join(done.stderr.split())
    assert not place.exists()
