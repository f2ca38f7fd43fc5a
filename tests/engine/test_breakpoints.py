"""Breakpoints: each kind stops at the step, and at the event, where a plain look at the record says that it must; its twin does not.

The story (:mod:`tests.engine.story`) is the same each time, so a run without breakpoints tells where the others must stop.
"""

import random
from typing import Any

import numpy as np
import pytest

from kvarium.filtering.rows import decision_row, operation_row
from kvarium.filtering.sheet import Sheet
from kvarium.heads import stored_head
from kvarium.recording.reader import Frame
from kvarium_engine.arguments import CommandError
from kvarium_engine.breakpoints import matching, mirror
from kvarium_engine.control import Control
from kvarium_ledger import codec
from kvarium_ledger.hashes import block_hash, root_hash
from kvarium_ledger.operations import NONE
from tests.engine.mirrored import Mirrored, tokens
from tests.engine.story import LAST, Row, Story, Truth, rows_of


@pytest.fixture(scope="module")
def told() -> Story:
    """The story, told to its end."""
    story = Story()
    assert story.go_on() is None
    return story


@pytest.fixture(scope="module")
def rows(told: Story) -> list[Row]:
    return list(rows_of(told.steps))


def stopped(when: str, **more: Any) -> Story:
    story = Story()
    story.ask("break", when=when, **more)
    story.go_on()
    return story


EVENTS: list[tuple[str, Truth]] = [
    ("op:evict", lambda row: row.kind == "evict"),
    ("op:copy,reuse", lambda row: row.kind in ("copy", "reuse")),
    ("op:share cause:fork", lambda row: (row.kind, row.cause) == ("share", "fork")),
    ("cause:preempted", lambda row: row.cause == "preempted"),
    ("-op:fill,allocate,cache -decision:any", lambda row: row.block is not None and row.kind not in ("fill", "allocate", "cache")),
    ("op:evict owner:cyd", lambda row: row.kind == "evict" and row.name == "cyd"),
    ("op:fill request:r1.1", lambda row: row.kind == "fill" and (row.request, row.sample) == (1, 1)),
    ("owner:dan", lambda row: row.name == "dan"),
    ("op:release owner:none", lambda row: row.kind == "release" and row.sequence is None),
    ("sequence:2", lambda row: row.sequence == 2),
    ("block:9", lambda row: 9 in (row.block, row.source)),
    ("op:free block:3..5", lambda row: row.kind == "free" and row.block in (3, 4, 5)),
    ("block:9#2", lambda row: row.block == 9 and row.life == 2),
    ("block:9#3 op:fill", lambda row: (row.block, row.life, row.kind) == (9, 3, "fill")),
    ("content:7", lambda row: row.content == 7),
    ("op:evict content:2..4", lambda row: row.kind == "evict" and row.content in (2, 3, 4)),
    ("decision:preempted", lambda row: row.kind == "preempted"),
    ("decision:finished owner:bob", lambda row: (row.kind, row.name) == ("finished", "bob")),
    ("decision:refused", lambda row: row.kind == "refused"),
    ("preempted>0", lambda row: (row.preempted or 0) > 0),
    ("preempted>1", lambda row: (row.preempted or 0) > 1),
    ("preempted>=1 owner:cyd", lambda row: (row.preempted or 0) >= 1 and row.name == "cyd"),
    ("op:evict or decision:preempted", lambda row: row.kind in ("evict", "preempted")),
    ("step:40.. op:free", lambda row: row.kind == "free" and row.step >= 40),
    ("not (op:any or decision:submitted,admitted)", lambda row: row.block is None and row.kind not in ("submitted", "admitted")),
]  # fmt: skip


@pytest.mark.parametrize(("when", "truth"), EVENTS, ids=[when for when, _ in EVENTS])
def test_an_event_stops_the_engine_before_its_next_step(when: str, truth: Truth, rows: list[Row]) -> None:
    wanted = next(row for row in rows if truth(row))
    story = stopped(when)
    hit = story.control.stop
    assert hit is not None
    assert story.engine.steps - 1 == wanted.step, "no step was made behind it"
    assert (hit.step, hit.index, hit.op) == (wanted.step, wanted.index, wanted.op)
    if wanted.block is not None:
        assert hit.block == wanted.block
    assert hit.request == wanted.request
    assert not story.control.pace.may_step


STATES = [
    ("usage>0.5", lambda story, step: story.usages[step] > 0.5),
    ("usage>=90% -step:..9", lambda story, step: story.usages[step] >= 0.9 and step > 9),
    ("free<3", lambda story, step: 18 - round(18 * story.usages[step]) < 3),
    ("free>17 step:10..", lambda story, step: story.usages[step] == 0 and step >= 10),
    ("hit_rate>0.2", lambda story, step: story.rates[step] > 0.2),
    ("step:33", lambda story, step: step == 33),
    ("usage<0.1 or step:5", lambda story, step: story.usages[step] < 0.1 or step == 5),
]


@pytest.mark.parametrize(("when", "truth"), STATES, ids=[when for when, _ in STATES])
def test_a_state_stops_the_engine_when_it_begins_to_hold_and_not_while_it_goes_on(
    when: str, truth: Any, told: Story
) -> None:
    holds = [truth(told, step) for step in range(len(told.steps))]
    begins = [step for step, held in enumerate(holds) if held and not (step and holds[step - 1])]
    story = Story()
    story.ask("break", when=when)
    found = []
    while (hit := story.go_on()) is not None:
        found.append(hit.step)
        assert (hit.index, hit.op, hit.block, hit.request) == (None, None, None, None)
        story.ask("release")
    assert found == begins
    assert begins


def test_a_request_that_waits_longer_stops_it_once_a_wait(told: Story) -> None:
    """A step takes a second; a request comes in, or is preempted, in one and is admitted in another."""
    since: dict[int, int] = {}
    waits: list[tuple[int, int]] = []
    for row in rows_of(told.steps):
        if row.request is None:
            continue
        if row.kind in ("submitted", "preempted"):
            since[row.request] = row.step
        elif row.kind in ("admitted", "refused"):
            waits += [(since[row.request] + 3, row.request)] if row.step - since[row.request] > 3 else []
    assert waits, "somebody waits longer than that"
    story = Story()
    story.ask("break", when="waiting>2s")
    found = []
    while (hit := story.go_on()) is not None:
        assert hit.request is not None
        found.append((hit.step, hit.request))
        story.ask("release")
    # Of two that have waited as long, the stop tells the first.
    assert found == sorted({step: min(who for at, who in waits if at == step) for step, _ in waits}.items())
    assert story.control.breakpoints.told[0].count == len(waits)
    other = stopped(f"waiting>2s -owner:r{waits[0][1]}").control.stop
    assert other is None or other.request != waits[0][1]


NEVER = [
    "op:evict step:..3",
    "op:copy owner:ada",
    "op:evict cause:reset",
    "block:9#99",
    "block:18..40",
    "owner:nobody",
    "seq:999",
    "content:9999",
    "hash:0000000000",
    'text:"no such words"',
    "preempted>9",
    "decision:preempted owner:eve",
    "usage>1",
    "free<0",
    "hit_rate>0.99",
    "waiting>1h",
    "waiting>2s owner:ada",
    "violation",
]


def test_what_is_never_met_never_stops_it() -> None:
    story = Story()
    for when in NEVER:
        story.ask("break", when=when)
    assert story.go_on() is None
    assert story.engine.steps == LAST + 1
    assert [each.when for each in story.control.breakpoints.told if each.count] == []
    assert story.notes == []


# -- contents -----------------------------------------------------------------------------------------------------------


def _hash(prompt: Any, blocks: int, size: int, extra: Any = None) -> str:
    value, keys = root_hash("0"), extra
    for at in range(blocks):
        value = block_hash(value, prompt[at * size : (at + 1) * size], keys)
        keys = None
    return value.hex()


@pytest.mark.parametrize("beforehand", [False, True])
def test_a_hash_is_met_whether_its_content_came_before_or_after_the_breakpoint(
    beforehand: bool, rows: list[Row]
) -> None:
    wanted = _hash(tokens(1, 22), 3, 4)
    cached = next(row for row in rows if row.kind == "cache" and row.name == "ada" and row.content == 2)
    evicted = next(row for row in rows if row.kind == "evict" and row.content == 2)
    story = Story()
    if beforehand:
        while story.engine.steps <= cached.step:
            story.step()
    story.ask("break", when=f"hash:{wanted[:12]}")
    hit = story.go_on()
    right = evicted if beforehand else cached
    assert hit is not None
    assert (hit.step, hit.index, hit.block) == (right.step, right.index, right.block)


def test_a_hash_with_a_salt_and_an_adapter_is_met_by_that_prefix_alone() -> None:
    from kvarium_engine.memory.extra_keys import ExtraKeys

    keys = ExtraKeys("pirate", "pepper")
    prompt = tokens(5, 12)
    value, extra = root_hash("0"), keys.first
    for at in range(3):
        value, extra = block_hash(value, prompt[at * 4 : (at + 1) * 4], extra), keys.rest
    for late in (False, True):
        engine = Mirrored(num_blocks=12, block_size=4)
        control = Control(engine.engine, True, True)
        engine.submit(prompt, 2, name="plain")
        if not late:
            control.handlers["break"]({"when": f"hash:{value.hex()}"}, "")
        engine.submit(prompt, 2, name="salted", keys=keys)
        engine.run()
        if late:
            control.handlers["break"]({"when": f"hash:{value.hex()} op:evict"}, "")
            engine.submit(tokens(6, 40), 2, name="big")
        while not engine.engine.idle:
            engine.step()
            control.stepped()
        control.breakpoints.look()
        if not late:
            # What was sealed by the run above was looked at only now, all of it.
            assert control.stop is not None
        assert control.breakpoints.told[0].count == 1, f"late: {late}"


def test_a_text_is_met_by_contents_that_begin_so_and_by_the_prompt_that_came_in() -> None:
    engine = Mirrored(num_blocks=12, block_size=4)
    control = Control(engine.engine, True, True)
    encode = engine.engine.runner.vocabulary.encode  # type: ignore[union-attr]

    def run(said: str) -> None:
        from array import array

        engine.submit(array("I", encode(said)), 2)
        while not engine.engine.idle and control.pace.may_step:
            engine.step()
            control.stepped()

    run("Once upon a time")
    control.handlers["break"]({"when": 'text:"Once upon é" or text:"Once there"'}, "")
    run("Once upon a hill")
    assert control.stop is None
    run("Once there was é")
    assert control.stop is not None
    step = engine.last
    assert control.stop.index == 0, "the request came in with that text"
    assert next(type(each).__name__ for each in step.decisions) == "Submitted"
    count = control.breakpoints.told[0].count
    assert count == 1 + 2, "and the blocks that hold more of it than their beginning: not the shared “Once”"


def test_where_no_text_is_told_none_is_asked_for() -> None:
    control = Control(Mirrored(record_text="hash").engine, True, False)
    for when in ('text:"secret"', "hash:ab", 'op:evict or text:"x"'):
        with pytest.raises(CommandError, match="start it with --record-text full"):
            control.handlers["break"]({"when": when}, "")
    assert control.breakpoints.told == []


# -- violations ---------------------------------------------------------------------------------------------------------


def test_a_change_behind_the_ledgers_back_stops_it_at_the_audit_that_finds_it() -> None:
    story = Story(audit_interval=4)
    story.ask("break", when="violation")
    while story.engine.steps < 6:
        story.step()
    assert story.control.stop is None
    story.engine.pool.state.count[3] += 1
    story.mirrored.fold.violation = None
    story.go_on()
    assert story.control.stop is not None
    assert story.control.stop.step == 7, "steps 3, 7, 11 … are audited"


def test_an_operation_that_is_no_lawful_one_stops_it_at_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(audit_interval=1000)
    story.ask("break", when="violation")
    while story.engine.steps < 5:
        story.step()
    plain = story.engine.ledger.fill
    monkeypatch.setattr(
        story.engine.ledger,
        "fill",
        lambda blocks, cause, who, before, after: plain(
            blocks, cause, who, before, [each + 7 for each in after]
        ),
    )
    story.go_on()
    assert story.control.stop is not None
    assert story.control.stop.step == 5


# -- counts, marks, several ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hits", [1, 2, 5, 11])
def test_it_stops_at_the_nth_hit_and_at_each_step_with_one_from_there_on(hits: int, rows: list[Row]) -> None:
    evicted = [row for row in rows if row.kind == "evict"]
    story = Story()
    story.ask("break", when="op:evict", hits=hits)
    hit = story.go_on()
    assert hit is not None
    right = evicted[hits - 1]
    assert (hit.count, hit.step, hit.index) == (hits, right.step, right.index)
    story.ask("release")
    later = [row for row in evicted if row.step > right.step]
    hit = story.go_on()
    if later:
        assert hit is not None
        assert (hit.step, hit.index) == (later[0].step, later[0].index)
    else:
        assert hit is None


def test_a_mark_is_recorded_and_nothing_stops(rows: list[Row]) -> None:
    story = stopped("decision:preempted", mark=True)
    assert story.engine.steps == LAST + 1
    preempted = [row for row in rows if row.kind == "preempted"]
    first = {row.step: row.index for row in reversed(preempted)}
    assert {hit.step: hit.index for hit in story.notes} == first
    assert not any(hit.stops for hit in story.notes)
    assert story.control.breakpoints.told[0].count == len(preempted)
    assert story.holds == []


def test_a_stop_is_recorded_behind_its_step_as_a_note_and_a_hold() -> None:
    story = stopped("op:copy")
    hit = story.control.stop
    assert hit is not None
    kinds = [type(record).__name__ for record in story.mirrored.records[-3:]]
    assert kinds[-2:] == ["Note", "Control"]
    assert kinds[0] in ("Step", "Text")
    assert story.notes == [hit]
    [hold] = story.holds
    assert (hold.name, hold.args, hold.asked_by) == (
        "hold",
        {"breakpoint": 1, "step": hit.step},
        "breakpoint 1",
    )
    assert story.mirrored.violations == []


def test_of_several_each_counts_and_the_first_one_that_stops_is_the_reason(rows: list[Row]) -> None:
    story = Story()
    for when, more in (
        ("op:fill", {"mark": True}),
        ("op:evict", {}),
        ("cause:allocate", {}),
        ("op:evict", {"hits": 99}),
    ):
        story.ask("break", when=when, **more)
    hit = story.go_on()
    assert hit is not None
    assert hit.breakpoint == 2
    of_step = [row for row in rows if row.step <= hit.step]
    counts = [each.count for each in story.control.breakpoints.told]
    fills, evicts = (sum(row.kind == kind for row in of_step) for kind in ("fill", "evict"))
    assert counts == [fills, evicts, evicts, evicts]


def test_a_disabled_one_neither_counts_nor_stops_and_a_removed_one_is_gone() -> None:
    story = Story()
    assert story.ask("break", when="op:evict")["breakpoint"] == 1
    assert story.ask("break", when="usage>0.5")["breakpoint"] == 2
    story.ask("disable", breakpoint=1)
    assert story.go_on().breakpoint == 2  # type: ignore[union-attr]
    story.ask("unbreak", breakpoint=2)
    story.ask("release")
    assert [(each.id, each.enabled) for each in story.control.breakpoints.told] == [(1, False)]
    while story.engine.steps < 25:
        story.step()
    assert story.control.stop is None
    story.ask("enable", breakpoint=1)
    assert story.go_on().breakpoint == 1  # type: ignore[union-attr]
    for command in ("unbreak", "enable", "disable"):
        with pytest.raises(ValueError, match="there is no breakpoint 2: those that are set are 1"):
            story.ask(command, breakpoint=2)


def test_one_that_is_set_amid_a_run_knows_who_is_there_and_how_full_the_pool_is(rows: list[Row]) -> None:
    """Owners, samples, lives and preemptions are those of a reader that was there from the beginning."""
    for at in (3, 9, 12, 17):
        story = Story()
        while story.engine.steps <= at:
            story.step()
        # What a content is called depends on what was there before; all else is known of what was.
        asked = [(when, truth) for when, truth in EVENTS if "content" not in when]
        for when, _ in asked:
            story.ask("break", when=when, mark=True)
        story.go_on()
        for number, (when, truth) in enumerate(asked, 1):
            wanted = [row for row in rows if row.step > at and truth(row)]
            met = [hit for hit in story.notes if hit.breakpoint == number]
            assert story.control.breakpoints.told[number - 1].count == len(wanted), (at, when)
            first = {row.step: row.index for row in reversed(wanted)}
            assert {hit.step: hit.index for hit in met} == first, (at, when)


def test_what_happened_between_two_steps_is_looked_at_once_and_only_by_those_that_were_set_before() -> None:
    story = Story()
    while story.engine.steps < 9:
        story.step()
    scheduler = story.engine.scheduler
    scheduler.abort(scheduler.roster.find("bob"), "me")  # type: ignore[arg-type]
    story.ask("break", when="decision:aborted", mark=True)
    used = story.control.breakpoints._known
    assert used is not None
    assert used.used == story.engine.pool.num_blocks - story.engine.pool.num_free
    story.step()
    assert story.control.breakpoints.told[0].count == 0
    scheduler.abort(scheduler.roster.find("cyd"), "me")  # type: ignore[arg-type]
    story.step()
    assert story.control.breakpoints.told[0].count == 1
    assert used.used == story.engine.pool.num_blocks - story.engine.pool.num_free


def test_a_place_is_that_at_which_a_reader_lists_the_event(told: Story) -> None:
    """The page finds a hit by step and index: the search of a recording counts the same."""
    story = stopped("op:any or decision:any", mark=True, hits=1)
    by_step = {hit.step: hit for hit in story.notes}
    frames = [codec.seal(step) for step in story.mirrored.steps()]
    sheet = Sheet([Frame(stored_head(frame), frame) for frame in frames], "the story")
    whom, life = np.full(2, -1), np.full(2, -1)
    listed = [operation_row(sheet, at, whom, life) for at in range(len(sheet.columns))]
    listed += [decision_row(decided, {}) for decided in sheet.decisions]
    first = {}
    for row in sorted(listed, key=lambda row: (row["record"], row["index"]), reverse=True):
        first[row["step"]] = row
    assert by_step.keys() == first.keys()
    for step, hit in by_step.items():
        assert (hit.index, hit.op, hit.block) == (0, first[step]["op"], first[step].get("block"))


def test_the_gauges_follow_a_random_run(rng: random.Random) -> None:
    story = Story()
    story.ask("break", when="usage>2%", mark=True)
    known = story.control.breakpoints._known
    assert known is not None
    for _ in range(60):
        if rng.random() < 0.4:
            story.mirrored.submit(rng.randint(1, 30), rng.randint(1, 12), n=rng.randint(1, 3))
        if rng.random() < 0.1 and story.mirrored.roster.requests:
            request = rng.choice(list(story.mirrored.roster.requests.values()))
            story.engine.scheduler.abort(request, "me")
        story.step()
        roster = story.mirrored.roster
        assert known.used == story.engine.pool.num_blocks - story.engine.pool.num_free
        waiting = {r.id: r.waits_since for r in roster.requests.values() if r.state != "running"}
        assert known.waits == waiting
        assert known.hits == roster.hit_statistics
        live = {r.id: {s.id: s.index for s in r.live} for r in roster.requests.values() if r.live}
        assert all(each.items() <= known.sequences[request].items() for request, each in live.items())


def test_without_one_the_ledger_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call, no check, nothing kept: the sink itself is the engine's own."""
    story = Story()
    sink = story.engine.ledger.sink
    story.ask("break", when="op:evict or violation")
    assert story.engine.ledger.sink != sink
    story.ask("disable", breakpoint=1)
    assert story.engine.ledger.sink == sink
    story.ask("enable", breakpoint=1)
    story.ask("unbreak", breakpoint=1)
    assert story.engine.ledger.sink == sink
    for module, name in ((matching, "StepEvents"), (mirror, "Mirror")):
        monkeypatch.setattr(module, name, pytest.fail)
    story.go_on()
    assert story.engine.steps == LAST + 1


def test_no_more_than_a_hundred_are_set() -> None:
    story = Story()
    for step in range(100):
        story.ask("break", when=f"step:{step}")
    with pytest.raises(ValueError, match="there are 100 breakpoints: remove one first"):
        story.ask("break", when="op:evict")


def test_one_that_is_set_already_is_told_and_looked_at_again_and_not_set_twice() -> None:
    story = Story()
    assert story.ask("break", when="step:4", hits=1) == {"breakpoint": 1, "step": -1}
    assert story.ask("break", when="step:4", mark=True)["breakpoint"] == 2
    assert story.ask("break", when="step:4", hits=2)["breakpoint"] == 3
    story.ask("disable", breakpoint=1)
    assert story.ask("break", when="step:4") == {"breakpoint": 1, "already": True, "step": -1}
    assert [(each.id, each.enabled) for each in story.control.breakpoints.told] == [
        (1, True),
        (2, True),
        (3, True),
    ]
    assert story.go_on().breakpoint == 1  # type: ignore[union-attr]
    story.ask("unbreak", breakpoint=1)
    assert story.ask("break", when="step:4") == {"breakpoint": 4, "step": 4}


def test_a_contiguous_cache_stops_as_well() -> None:
    engine = Mirrored(num_blocks=16, block_size=4, reserve="exact")
    control = Control(engine.engine, True, True)
    control.handlers["break"]({"when": "cause:reserve owner:b"}, "")
    engine.submit(9, 6, name="a")
    engine.step(2)
    engine.submit(9, 6, name="b")
    while control.pace.may_step and not engine.engine.idle:
        engine.step()
        control.stepped()
    assert control.stop is not None
    assert control.stop.step == 2
    assert control.stop.block not in (None, NONE)
