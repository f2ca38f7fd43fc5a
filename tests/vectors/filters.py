"""What both languages read of filters: texts, and the terms or the fault of each, in ``filters.json``.

python -m tests.vectors.filters      writes it anew
"""

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import msgspec
import numpy as np

from kvarium.filtering.matching import Matcher, Whose
from kvarium.filtering.printing import print_filter
from kvarium.filtering.search import generations_of
from kvarium.filtering.sheet import Owners, Sheet
from kvarium.heads import stored_head
from kvarium.recording.content_hashes import ContentHashes
from kvarium.recording.reader import Frame
from kvarium_ledger import codec
from kvarium_ledger.decisions import Submitted
from kvarium_ledger.filtering.reading import UnreadableFilterError, read_filter
from kvarium_ledger.filtering.terms import plain
from kvarium_ledger.messages import Hello
from kvarium_ledger.records import Step, Text

FOLDER: Final = Path(__file__).parent
PATH: Final = FOLDER / "filters.json"
EVENTS: Final = FOLDER / "events.json"

TEXTS: Final = (
    "",
    "  \t ",
    "op:evict owner:r17 block:42#3 step:100..200 cause:allocate",
    "op:evict,free,any -cause:prefix_hit",
    'cause:"prefix hit" cause:Prefix-Hit CAUSE:full',
    "decision:preempted,any -decision:sequence_created",
    "block:42 block:40..50 block:40.. block:..50 block:1,3..4,9#0 block:5..5",
    "owner:17 owner:r17.2 owner:none owner:mix-12",
    'owner:"a name, with \\"quotes\\" and \\\\" owner:"r17" owner:"none"',
    "seq:7 content:812.. record:..9 step:999999999999999",
    "hash:ab12 hash:0xAB12,00ff -HASH:e",
    "hash:xyz",
    "hash:0x",
    'hash:"ab12"',
    "hash:" + "a1" * 32,
    "hash:" + "a1" * 33,
    "hsh:ab",
    "time:12s time:12.5s time:..3m time:0:01:02.5 time:+1:02 time:250ms time:1.5h",
    "time:14:03 time:14:03:10 time:2026-11-30T14:03..2026-12-01t02:00:07.25 time:23:59..0:01",
    'time:"2026-11-30 14:03"',
    'word -other "two words" -"-dash" a,b 12:30 "op:evict" x"',
    'word -other "two words" -"-dash" a,b 12:30 "op:evict" ürün \\',
    "--x",
    "op:evcit",
    "cause:alocate",
    "op:ev",
    "op:zzzzz",
    "own:r1",
    "blocks:3",
    "colour:red",
    "op:",
    "op:evict,",
    "op:,evict",
    "step:100 op:evict -",
    '""',
    'owner:""',
    'owner:"open',
    'owner:"open\\"',
    'owner:"a"b',
    'ab"c',
    "block:x",
    "block:9..1",
    "block:1..2#3",
    "block:..",
    "block:1234567890123456",
    'block:"42"',
    "seq:1#2",
    "time:12",
    "time:..",
    "time:9s..1s",
    "time:24:00",
    "time:14:60",
    "time:2026-13-01T10:00",
    "time:0.1234567ms",
    "time:999999999h",
    "time:2026-12-01T10:00..2026-11-30T10:00",
)
_PIECES: Final = (
    *(
        "op:",
        "decision:",
        "cause:",
        "block:",
        "owner:",
        "seq:",
        "content:",
        "step:",
        "record:",
        "time:",
        "opp:",
    ),
    *(
        "evict",
        "free",
        "any",
        "preempted",
        "reset",
        "none",
        "r3",
        "r3.1",
        "42",
        "7#2",
        "..",
        "12.5s",
        "3m",
        "14:03",
    ),
    *(" ", " ", " ", ",", "-", '"', "\\", ":", ".", "#", "x", "é"),
)


def _told(text: str) -> dict[str, Any]:
    try:
        read = read_filter(text)
    except UnreadableFilterError as error:
        return {"text": text, "fault": msgspec.to_builtins(error.fault)}
    return {"text": text, "filter": plain(read), "printed": print_filter(read)}


def vectors() -> str:
    """The file as this code makes it: the texts above, and a few hundred put together at random, of one seed."""
    rng = random.Random(17)
    drawn = ["".join(rng.choices(_PIECES, k=rng.randint(1, 7))) for _ in range(300)]
    lines = [json.dumps(_told(text), ensure_ascii=False) for text in (*TEXTS, *drawn)]
    return "[\n" + ",\n".join(lines) + "\n]\n"


MATCHED: Final = (
    "",
    "op:evict,copy",
    "-op:any",
    "op:any -op:fill,cache",
    "decision:preempted,finished",
    "cause:prefix_hit,fork",
    "-cause:prefill op:allocate",
    "block:3 -op:fill",
    "block:5#2,7#1",
    "block:..4",
    "owner:r2",
    "owner:r1.1,r4.0",
    "owner:mix-3",
    "owner:none",
    "-owner:r1 decision:any",
    "seq:3..5 op:share",
    "content:4..9",
    "hash:a,3 op:evict",
    "-hash:0,1,2,3,4,5,6,7,8 op:cache",
    "step:5..9 record:..16",
    "-step:3.. decision:any",
    "time:..2ms op:free",
    "hit",
    "prefix -evict",
    "decision:finished length",
    "MIX-2",
)


def events() -> str:
    """The file of what is found."""
    frames = [
        Frame(stored_head(frame), frame) for frame in codec.unpack((FOLDER / "engine.frames").read_bytes())
    ]
    sheet = Sheet(frames, "the vector")
    owners = Owners()
    owners.learn(sheet.steps)
    columns = sheet.columns
    blocks = np.unique(np.concatenate((columns.block, columns.source)))
    generations = generations_of(sheet, blocks, np.zeros(len(blocks), dtype=np.int64))
    names = {
        decided.decision.request: decided.decision.name
        for decided in sheet.decisions
        if isinstance(decided.decision, Submitted)
    }
    of = {sequence: (int(request), int(index)) for sequence, (request, index) in enumerate(owners.all.T)}
    hashes = ContentHashes(
        Hello(
            version=1, session=str(UUID(int=0)), utc_us=0, num_blocks=48, block_size=16,
            engine="", model="", runner="null", device="cpu",
        )
    )  # fmt: skip
    records = [codec.open_frame(frame.bytes) for frame in frames]
    for step, text in pairwise(records):
        if isinstance(step, Step) and isinstance(text, Text):
            hashes.learn(step.contents, text)
    found = {}
    for typed in MATCHED:
        matcher = Matcher(read_filter(typed), Whose(lambda requests: names), 0, hashes.beginning)
        hits = np.flatnonzero(matcher.operations(sheet, owners.of(columns.sequence), generations)).tolist()
        places = [[int(sheet.record[at]), int(sheet.index[at])] for at in hits]
        places += [
            [each.place.record, each.place.index] for each in sheet.decisions if matcher.decision(each, of)
        ]
        found[typed] = sorted(places)
    lines = [f"{json.dumps(typed)}: {json.dumps(places)}" for typed, places in found.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    PATH.write_text(vectors())
    EVENTS.write_text(events())
