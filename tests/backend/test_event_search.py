"""Events that meet a filter: found in the few chunks that may hold one, the same as who looks at every event finds."""

import itertools
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvarium.filtering.search import Searcher
from kvarium.filtering.sheet import Place
from kvarium.recording.content_hashes import ContentHashes
from kvarium.recording.contents import read_contents
from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium_ledger import codec
from kvarium_ledger.columns import u32
from kvarium_ledger.filtering.reading import read_filter
from kvarium_ledger.hashes import block_hash, root_hash
from kvarium_ledger.records import Gap, Keyframe, Step, Text
from tests.backend.hand_engine import hand_frames, hello
from tests.backend.running_server import running
from tests.backend.test_block_operations import write

Told = dict[str, Any]
LONG = 60.0
LAST = 100
"""The last record of the recording without an index."""


@pytest.fixture(scope="module")
def fine(tmp_path_factory: pytest.TempPathFactory, mixed_reader: Reader) -> Path:
    frames = [frame.bytes for frame in mixed_reader.frames(1, through=LAST)]
    return write(tmp_path_factory.mktemp("fine") / "fine.db", frames, every=20)


def searcher_of(path: Path) -> Iterator[Searcher]:
    database = open_for_reading(str(path))
    reader = Reader(database)
    seeker = Seeker(reader)
    yield Searcher(reader, seeker)
    seeker.close()
    database.close()


@pytest.fixture(scope="module")
def coarse(mixed: Path) -> Iterator[Searcher]:
    """Over a recording that is indexed, in few chunks."""
    yield from searcher_of(mixed)


@pytest.fixture(scope="module")
def searcher(fine: Path) -> Iterator[Searcher]:
    """Over one without an index, in many chunks."""
    yield from searcher_of(fine)


def walk(searcher: Searcher, typed: str, direction: Any, limit: int = 2000) -> list[Told]:
    """All rows that meet a filter, page by page, from one end to the other."""
    found: list[Told] = []
    at = Place(0, 0) if direction == "later" else Place(1 << 52, 0)
    while True:
        page = searcher.search(1, read_filter(typed), at, direction, limit, LONG)
        assert len(page["rows"]) <= limit
        found = found + page["rows"] if direction == "later" else page["rows"] + found
        if page["next"] is None:
            return found
        at = Place(page["next"]["record"], page["next"]["index"])


@pytest.fixture(scope="module")
def everything(coarse: Searcher) -> list[Told]:
    return walk(coarse, "", "later")


def value(row: Told, name: str) -> Any:
    return row.get(name, row.get("decision", {}).get(name))


EXAMPLES = {
    "": lambda row: True,
    "op:evict": lambda row: row["kind"] == "evict",
    "op:any": lambda row: "cause" in row,
    "op:evict,copy": lambda row: row["kind"] in ("evict", "copy"),
    "-op:fill,allocate": lambda row: row["kind"] not in ("fill", "allocate"),
    "decision:preempted": lambda row: row["kind"] == "preempted",
    "decision:any": lambda row: "decision" in row,
    "block:7": lambda row: 7 in (row.get("block"), row.get("source")),
    "block:3..5,90": lambda row: any(
        block in (3, 4, 5, 90) for block in (row.get("block"), row.get("source"))
    ),
    "block:7#2": lambda row: (
        (7, 2)
        in ((row.get("block"), row.get("generation")), (row.get("source"), row.get("source_generation")))
    ),
    "owner:r3": lambda row: row.get("request") == 3 or value(row, "victim_of") == 3,
    "owner:0.1": lambda row: (row.get("request"), row.get("sequence_index")) == (0, 1),
    "owner:none op:any": lambda row: "cause" in row and row["request"] is None,
    "cause:allocate": lambda row: row.get("cause") == "allocate",
    "seq:4..6": lambda row: row.get("sequence") in (4, 5, 6),
    "content:10..": lambda row: (row.get("content") or 0) >= 10,
    "step:20..30": lambda row: 20 <= row.get("step", -1) <= 30,
    "record:50.. op:free": lambda row: row["record"] >= 50 and row["kind"] == "free",
    "evict": lambda row: row["kind"] == "evict",
    "-prefix owner:r1": lambda row: row.get("request") == 1 and row.get("cause") != "prefix_hit",
    "op:share block:..20 cause:prefix_hit,fork": lambda row: (
        row["kind"] == "share" and row["block"] <= 20 and row["cause"] in ("prefix_hit", "fork")
    ),
}


@pytest.mark.parametrize("typed", EXAMPLES)
def test_what_is_found_is_what_a_look_at_every_event_finds(
    searcher: Searcher, coarse: Searcher, everything: list[Told], typed: str
) -> None:
    right = [row for row in everything if EXAMPLES[typed](row)]
    assert right
    begin = [row for row in right if row["record"] <= LAST]
    # Of what most events meet, a part is enough.
    wholes = [(coarse, right)] if len(right) < 4000 else []
    for each, rows in [*wholes, (searcher, begin)]:
        assert walk(each, typed, "later") == rows
        assert walk(each, typed, "earlier") == rows


def test_every_event_stands_at_a_place_of_its_own_in_the_order_in_which_it_holds(searcher: Searcher) -> None:
    rows = walk(searcher, "", "later", limit=37)
    places = [(row["record"], row["index"]) for row in rows]
    assert places == sorted(set(places))
    for _, group in itertools.groupby(rows, key=lambda row: row["record"]):
        indexes = [row["index"] for row in group]
        assert indexes == list(range(len(indexes)))
    operations = [row for row in rows if "cause" in row]
    assert [row["op"] for row in operations] == list(range(len(operations)))


def test_a_block_bears_the_generation_that_its_births_count(searcher: Searcher) -> None:
    births: dict[int, int] = {}
    for row in walk(searcher, "op:any", "later"):
        if row["kind"] in ("allocate", "copy"):
            births[row["block"]] = births.get(row["block"], 0) + 1
        assert row["generation"] == births.get(row["block"], 0)


def test_pages_of_any_size_from_any_place_are_parts_of_the_whole(
    coarse: Searcher, everything: list[Told], rng: random.Random
) -> None:
    for _ in range(12):
        typed = rng.choice(list(EXAMPLES))
        whole = [row for row in everything if EXAMPLES[typed](row)]
        place = Place(rng.randrange(200), rng.randrange(8))
        limit = rng.choice((1, 2, 7))
        behind = [row for row in whole if Place(row["record"], row["index"]) >= place]
        page = coarse.search(1, read_filter(typed), place, "later", limit, LONG)
        assert page["rows"] == behind[:limit]
        page = coarse.search(1, read_filter(typed), place, "earlier", limit, LONG)
        before = whole[: len(whole) - len(behind)]
        assert page["rows"] == before[-limit:]


@pytest.fixture(scope="module")
def hashes(mixed_reader: Reader, everything: list[Told]) -> dict[int, str]:
    """The hash of each content that is labelled or evicted, from its tokens and those before it."""
    found: dict[int, bytes] = {}
    ids = {row["content"] for row in everything if row.get("content") is not None}
    for row in read_contents(mixed_reader, 1, ids):
        before = root_hash("0") if row["parent"] is None else found[row["parent"]]
        found[row["content"]] = block_hash(before, row["tokens"], row["extra_keys"])
    return {content: value.hex() for content, value in found.items()}


def test_a_hash_is_found_where_a_content_whose_hash_begins_so_is_labelled_or_evicted(
    searcher: Searcher, coarse: Searcher, everything: list[Told], hashes: dict[int, str]
) -> None:
    one = next(hashes[row["content"]] for row in everything if row["kind"] == "evict")
    for digits in (one, one[:7], one[:2].upper(), "0x" + one[:1], f"{one[:3]},{one[:1]}"):
        begins = tuple(each.lower().removeprefix("0x") for each in digits.split(","))
        right = [row for row in everything if hashes.get(row.get("content", -1), "").startswith(begins)]
        assert {row["kind"] for row in right} == {"cache", "evict"}
        assert walk(coarse, f"hash:{digits}", "earlier") == right
        assert walk(coarse, f"hash:{digits}", "later", limit=7) == right
        begin = [row for row in right if row["record"] <= LAST]
        assert walk(searcher, f"hash:{digits}", "later") == begin
    assert walk(coarse, "hash:" + "f" * 64, "later") == []


def test_a_hash_is_looked_for_a_while_at_a_time_and_what_is_known_is_kept(
    fine: Path, everything: list[Told], hashes: dict[int, str]
) -> None:
    right = [row for row in everything if row["kind"] == "evict" and row["record"] <= LAST]
    digits = hashes[right[0]["content"]]
    for searcher in searcher_of(fine):
        pages = []
        at: Told | None = {"record": LAST + 1, "index": 0}
        while at is not None:
            page = searcher.search(
                1, read_filter(f"op:evict hash:{digits}"), Place(**at), "earlier", 100, 0.0
            )
            pages.append(page["rows"])
            at = page["next"]
        assert len(pages) > 2
        assert [row for page in reversed(pages) for row in page] == [
            row for row in right if hashes[row["content"]] == digits
        ]


def test_at_the_live_end_what_has_no_text_yet_is_not_passed_over(tmp_path: Path) -> None:
    frames = hand_frames(40)
    records = [codec.open_frame(frame) for frame in frames]
    hashes = ContentHashes(hello())
    for before, record in itertools.pairwise(records):
        if isinstance(record, Text) and isinstance(before, Step):
            hashes.learn(before.contents, record)
    at, step = next(
        (at, each)
        for at, each in enumerate(records)
        if isinstance(each, Step) and len(each.contents.content) and isinstance(records[at + 1], Text)
    )
    value = hashes.get(int(u32(step.contents.content)[0]))
    assert value is not None
    with running(tmp_path / "live.db") as server, server.engine() as engine:
        engine.send(frames[: at + 1])
        engine.wait_acked(step.record)
        text = threading.Timer(0.2, engine.send, [frames[at + 1 : at + 2]])
        text.start()
        path = f"/sessions/{engine.hello.session}/events"
        rows = server.get(path, filter=f"hash:{value.hex()}", direction="later")["rows"]
        text.join()
        assert [(row["record"], row["kind"]) for row in rows][:1] == [(step.record, "cache")]


def test_a_page_says_where_to_go_on_when_its_time_is_up(searcher: Searcher) -> None:
    page = searcher.search(1, read_filter("cause:reset"), Place(0, 0), "later", 100, 0.0)
    assert page["rows"] == []
    assert page["next"] == {"record": 20, "index": 0}


def test_a_gap_is_told_whatever_is_looked_for(tmp_path: Path, mixed_reader: Reader) -> None:
    frames = [frame.bytes for frame in mixed_reader.frames(1)][:40]
    records = [codec.open_frame(frame) for frame in frames]
    steps = [record for record in records if isinstance(record, Step)]
    last = records[-1]
    assert not isinstance(last, Keyframe)
    gap = Gap(record=60, time=steps[-1].sealed + 1, first=40, last=59, reason="the server was away")
    for searcher in searcher_of(write(tmp_path / "gap.db", [*frames, codec.seal(gap)])):
        for typed in ("", "op:evict block:1", "record:40..70"):
            assert walk(searcher, typed, "later")[-1] == {
                "record": 60,
                "index": 0,
                "time": gap.time,
                "kind": "gap",
                "first": 40,
                "last": 59,
                "reason": "the server was away",
            }
        assert all(row["kind"] != "gap" for row in walk(searcher, "record:..50", "earlier"))


def test_a_server_tells_pages_and_what_can_not_be_read_of_a_filter(mixed: Path) -> None:
    with running(mixed) as server:
        session = server.get("/sessions")["sessions"][0]["id"]
        page = server.get(f"/sessions/{session}/events", filter="op:evict", limit=2)
        assert [row["kind"] for row in page["rows"]] == ["evict", "evict"]
        assert page["next"]["record"] == page["rows"][-1]["record"]
        numbers = {str(row["request"]) for row in page["rows"] if row["request"] is not None}
        assert set(page["requests"]) == numbers
        refused = server.http.get(f"/api/sessions/{session}/events", params={"filter": "op:evcit"})
        assert refused.status_code == 422
        assert refused.json()["detail"] == (
            "the filter can't be read at character 4: there is no operation 'evcit'; did you mean evict?"
        )
