"""What stands behind each view, as the Python fold and the records themselves say it.

    recording ──▶ Truth: one pass of the Python fold; its events and steps, and the state behind those that are looked at
                    └─▶ Behind a step: map, tables, queue, scheduler, tree, timeline, events, one block, one request
    page ───────▶ window.kvarium.shown(): what its views draw                                          ── are they equal?

What is of the state is compared as one, from one look at the page. What the page looks up besides (events, the timeline's
figures, the story of a block, whatever contents follow) may come a moment later, each in its own time.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

from kvarium_ledger.decisions import (
    Aborted,
    Admitted,
    Finished,
    Preempted,
    Refused,
)
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import NONE, Operation
from kvarium_ledger.records import Step
from tests.e2e.page import WAIT, Patience
from tests.e2e.truth import Plain, Truth
from tests.plain_state import plain_tree

# -- the state -----------------------------------------------------------------------------------------------------------


def words(fold: Fold) -> list[int]:
    """What the map is told of each block, see ``frontend/src/worker/word.ts``."""
    blocks = fold.state.blocks
    found = []
    for count, filled, content in zip(blocks.count, blocks.filled, blocks.content, strict=True):
        kind = min(count, 2) + 1 if count else int(content != NONE)
        part = math.floor(filled * 127 / fold.block_size + 0.5)
        found.append(kind | min(count, 1023) << 2 | part << 12 | (content != NONE) << 19)
    return found


def free_queue(fold: Fold) -> list[int]:
    """The free blocks, head first."""
    ticket = fold.state.blocks.ticket
    return sorted(
        (block for block, each in enumerate(ticket) if not math.isnan(each)), key=ticket.__getitem__
    )


@dataclass(frozen=True)
class Behind:
    """The views at the end of a step, as ``fold`` has it, of a page on which ``block`` and ``request`` are selected."""

    truth: Truth
    fold: Fold
    block: int
    request: int

    @property
    def step(self) -> Step:
        return self.truth.steps[self.fold.step]

    def check_state(self, shown: Plain) -> None:
        """All that follows from the state alone."""
        assert shown["position"]["step"] == self.fold.step
        assert shown["position"]["op"] == self.fold.op
        assert list(shown["usage"].values()) == list(self.fold.usage())
        assert shown["map"] == words(self.fold), "the map"
        self._check_tables(shown["tables"])
        self._check_queue(shown["queue"])
        self._check_scheduler(shown["scheduler"])
        self._check_block(shown["block"])
        self._check_request(shown["request"])

    def _check_tables(self, shown: Plain) -> None:
        state = self.fold.state
        expected: dict[tuple[int, int], Plain] = {}
        for (sequence, group), table in state.tables.items():
            length = max(table) + 1
            request = state.sequences[sequence].request
            expected[sequence, group] = {
                "request": request,
                "name": state.facts[request].name,
                "label": self.truth.label(sequence),
                "tokens": sum(state.blocks.filled[block] for block in table.values()),
                "prompt": state.facts[request].prompt_tokens,
                "length": length,
                "blocks": [table.get(position, NONE) for position in range(length)],
            }
        # A request that holds no blocks may have a row without a sequence.
        rows = [row for row in shown["rows"] if row["sequence"] is not None]
        assert sorted((row["sequence"], row["group"]) for row in rows) == sorted(expected), "who has a table"
        places = [state.requests[row["request"]].place for row in rows]
        assert places == sorted(places), "the order of the block tables"
        for row in rows:
            key = row["sequence"], row["group"]
            told = {name: row[name] for name in expected[key]}
            # Only the rows in sight have their blocks.
            blocks = expected[key]["blocks"] if row["blocks"] is not None else None
            assert told == expected[key] | {"blocks": blocks}, f"the table of sequence {key}"
        assert rows == [] or rows[0]["blocks"] is not None

    def _check_queue(self, shown: Plain) -> None:
        queue = free_queue(self.fold)
        blocks = self.fold.state.blocks
        assert shown["length"] == len(queue)
        assert shown["head"] == queue[: len(shown["head"])], "the free queue"
        assert len(shown["head"]) >= min(len(queue), 4)
        # What each would lose is in its word on the map; of the next one it is told.
        if queue:
            assert (shown["loses"], shown["hits"]) == (blocks.content[queue[0]], blocks.hits[queue[0]])

    def _check_scheduler(self, shown: Plain) -> None:
        state, step = self.fold.state, self.step
        waiting = [number for number, row in state.requests.items() if row.state != "running"]
        waiting.sort(key=lambda number: (state.facts[number].precedence, state.requests[number].place))
        assert [row["request"] for row in shown["waiting"]] == waiting, "who waits"
        assert shown["waitingTotal"] == len(waiting)
        assert shown["running"] == len(state.requests) - len(waiting)
        for row in shown["waiting"]:
            number = row["request"]
            facts = state.facts[number]
            assert (row["name"], row["prompt"]) == (facts.name, facts.prompt_tokens)
            assert row["state"] == state.requests[number].state
            self._check_reason(number, row["reason"])
        prefill = self.truth.figures["prefill"][step.step]
        told = {
            "step": step.step,
            "tokens": step.tokens,
            "budget": step.budget,
            "prefill": prefill,
            "decode": max(0, step.tokens - prefill),
            "operations": {each.name: list(step.operations.kind).count(each) for each in Operation},
            "times": [step.schedule_ns, step.forward_ns, step.sample_ns, step.seal_ns],
            "admitted": [
                {"request": each.request, "tokens": each.tokens, "hit": each.hit}
                for each in step.decisions
                if isinstance(each, Admitted)
            ],
            "preempted": [
                {"request": each.request, "for": each.victim_of, "blocks": each.blocks, "tokens": each.tokens}
                for each in step.decisions
                if isinstance(each, Preempted)
            ],
            "ended": [
                {"request": each.request, "how": getattr(each, "reason", type(each).__name__.lower())}
                for each in step.decisions
                if isinstance(each, Finished | Aborted | Refused)
            ],
        }
        assert {name: shown["step"][name] for name in told} == told, "what the step did"

    def _check_reason(self, request: int, shown: Plain | None) -> None:
        """A state does not tell why a request waits: a page that came in behind that decision does not know."""
        assert shown in (None, self.truth.reason(request, self.fold.step)), f"why request {request} waits"

    def _check_block(self, shown: Plain) -> None:
        state, block = self.fold.state, self.block
        blocks = state.blocks
        ticket, content = blocks.ticket[block], blocks.content[block]
        queue = free_queue(self.fold)
        expected = {
            "block": block,
            "generation": blocks.generation[block],
            "count": blocks.count[block],
            "filled": blocks.filled[block],
            "content": content,
            "hits": blocks.hits[block],
            "ticket": None if math.isnan(ticket) else ticket,
            "rank": queue.index(block) if block in queue else None,
            "queued": len(queue),
            "holders": [
                {
                    "sequence": sequence,
                    "group": group,
                    "position": position,
                    "request": state.sequences[sequence].request,
                    "label": self.truth.label(sequence),
                }
                for (sequence, group), table in sorted(state.tables.items())
                for position, held in sorted(table.items())
                if held == block
            ],
            "pins": [{"pin": pin, "times": times} for pin, times in state.pins.get(block, {}).items()],
            "twins": [
                other
                for other, held in enumerate(blocks.content)
                if content != NONE and held == content and other != block
            ][:16],
        }
        assert {name: shown[name] for name in expected} == expected, f"block {block}"

    def _check_request(self, shown: Plain) -> None:
        state = self.fold.state
        facts, row = self.truth.facts[self.request], state.requests.get(self.request)
        own = [each.sequence for each in self.truth.sequences.values() if each.request == self.request]
        tables = {sequence: state.tables.get((sequence, 0), {}) for sequence in own}
        held = {block for table in tables.values() for block in table.values()}
        expected = {
            "request": self.request,
            "name": facts.name,
            "state": row.state if row is not None else None,
            "prompt": facts.prompt_tokens,
            "maxTokens": facts.max_tokens,
            "n": facts.n,
            "priority": facts.priority,
            "beamWidth": facts.beam_width,
            "blocks": len(held),
            "sharedBlocks": sum(state.blocks.count[block] > 1 for block in held),
        }
        assert {name: shown[name] for name in expected} == expected, f"request {self.request}"
        for each in shown["sequences"]:
            table = tables[each["sequence"]]
            length = max(table, default=-1) + 1
            assert each["table"] == [table.get(position, NONE) for position in range(length)]
            assert each["label"] == self.truth.label(each["sequence"])
            assert each["shared"] == sum(state.blocks.count[block] > 1 for block in table.values())
        assert {each["sequence"] for each in shown["sequences"]} >= {
            key for key, table in tables.items() if table
        }

    # -- what is looked up -----------------------------------------------------------------------------------------------

    def check_events(self, shown: Plain) -> None:
        assert not shown["events"]["looking"]
        self._check_run(shown["events"], self.truth.events, self.truth.behind(self.fold.record))
        assert len(shown["events"]["rows"]) >= 10

    def check_stories(self, shown: Plain) -> None:
        """The biography of the block, the story of the request, and what the block's content follows."""
        content = self.fold.state.blocks.content[self.block]
        parent = None if content == NONE else self.fold.state.contents.parent(content)
        assert shown["block"]["parent"] == parent
        copies = (int(Operation.copy), self.block)
        of_block = [
            event
            for event in self.truth.events
            if self.block == event["block"] or (event["kind"], event["value"]) == copies
        ]
        of_request = [event for event in self.truth.events if self.request in self._concerned(event["kind"])]
        for story, events in (
            (shown["block"]["biography"], of_block),
            (shown["request"]["story"], of_request),
        ):
            holds = sum(event["step"] <= self.fold.step for event in events)
            # These lists do not say which life of the block it was; of requests that are gone they may not know how many sequences
            # they had, where the beginning of these is not loaded.
            first = holds - story["now"]
            for row, event in zip(story["rows"], events[first:], strict=False):
                if row["label"] == event["label"].removesuffix(".0"):
                    row["label"] = event["label"]
            self._check_run(story, [event | {"generation": None} for event in events], holds)

    @staticmethod
    def _concerned(kind: Any) -> tuple[int | None, ...]:
        """The requests that a decision is about, and for which one it was made."""
        return (kind["request"], kind.get("victim_of")) if isinstance(kind, dict) else ()

    def _check_run(self, shown: Plain, events: list[Plain], holds: int) -> None:
        """Rows are a run of all events, with those that hold now before ``now``."""
        first = holds - shown["now"]
        assert first >= 0
        for row, event in zip(shown["rows"], events[first:], strict=False):
            assert row == event, f"a list shows {row}, and it was {event}"
        assert len(shown["rows"]) <= len(events) - first

    def check_timeline(self, shown: Plain) -> None:
        series = shown["series"]
        assert series["per"] == 1, (
            "a bucket of the timeline is more than a step: the recording is too long for this test"
        )
        steps = slice(series["from"], series["window"]["to"])
        for name, figures in self.truth.figures.items():
            assert series[name] == figures[steps], f"the timeline's {name}"
        assert series["window"]["from"] <= self.fold.step < series["window"]["to"]

    def check_tree(self, shown: Plain) -> None:
        tree = shown["tree"]
        nodes = {node["content"]: node for node in plain_tree(self.fold)}
        assert tree["step"] == self.fold.step
        assert (tree["contents"], tree["unknown"]) == (len(nodes), 0)
        assert tree["blocks"] == sum(len(node["blocks"]) for node in nodes.values())
        assert tree["unreachable"] == sum(not node["reachable"] for node in nodes.values())
        assert nodes == {} or tree["rows"] != []
        for row in tree["rows"]:
            run = [nodes[row["last"]]]
            while run[0]["content"] != row["first"]:
                run.insert(0, nodes[run[0]["parent"]])
            self._check_run_of_tree(row, run)

    def _check_run_of_tree(self, row: Plain, run: list[Plain]) -> None:
        state = self.fold.state
        held = [block for node in run for block in node["blocks"]]
        counts = [state.blocks.count[block] for block in held]
        holders = {
            sequence
            for (sequence, _), table in state.tables.items()
            if not set(held).isdisjoint(table.values())
        }
        queue = free_queue(self.fold)
        expected = {
            "depth": run[0]["depth"],
            "length": len(run),
            "blocks": held[:256],
            "held": len(held),
            "states": [counts.count(0), counts.count(1), sum(count > 1 for count in counts)],
            "below": run[0]["below"],
            "hits": run[0]["hits"],
            "holding": len(holders),
            "rank": min((queue.index(block) for block in held if block in queue), default=None),
        }
        assert {name: row[name] for name in expected} == expected, (
            f"a row of the tree, from content {row['first']}"
        )
        assert (row["standing"] == "reachable") == run[0]["reachable"]


def shown(page: Page, *names: str) -> Plain:
    """What the page shows under these names."""
    found: Plain = page.evaluate("names => window.kvarium.shown(...names)", names)
    return found


STATE = "position usage map tables queue scheduler block request"
"""What follows from the state alone."""


def wait_told(page: Page, checks: Mapping[str, Callable[[Plain], None]]) -> None:
    """Wait until each check, by what it is of, finds what it must in what is shown; the last difference is raised."""
    for names, check in checks.items():
        patience = Patience(WAIT)
        while True:
            try:
                check(shown(page, *names.split()))
                break
            except (AssertionError, TypeError):
                # TypeError: it is not there yet.
                if patience.ends():
                    raise
            page.wait_for_timeout(20)
