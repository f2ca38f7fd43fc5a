"""The breakpoints of an engine: set, listed, removed, and looked at once a step."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kvarium_engine.breakpoints.known import Known
from kvarium_engine.breakpoints.known_contents import KnownContents
from kvarium_engine.breakpoints.matching import Matcher, Now, Place
from kvarium_engine.breakpoints.mirror import Mirror
from kvarium_engine.breakpoints.step_events import StepEvents
from kvarium_engine.engine import Engine
from kvarium_ledger import block_columns, messages
from kvarium_ledger.filtering.predicates import VIOLATION, Condition, Predicate
from kvarium_ledger.filtering.terms import Numbers
from kvarium_ledger.ledger import Sealed, SealedStep
from kvarium_ledger.records import Hit

MOST: Final = 100
"""So many breakpoints may be set."""
MOST_HITS: Final = 1 << 53


@dataclass
class Breakpoint:
    """Stops (or, with ``mark``, only marks) where its predicate is met for the ``hits``-th time, and each time from there on."""

    id: int
    predicate: Predicate
    hits: int
    mark: bool
    enabled: bool
    matcher: Matcher
    count: int = 0
    last: Hit | None = None

    @property
    def told(self) -> messages.Breakpoint:
        """As it is told."""
        return messages.Breakpoint(
            id=self.id,
            when=self.predicate.text,
            hits=self.hits,
            mark=self.mark,
            enabled=self.enabled,
            count=self.count,
            last=self.last,
        )

    @property
    def conditions(self) -> list[Condition]:
        """All of its predicate's."""
        return [condition for each in self.predicate.alternatives for condition in each]


class Breakpoints:
    """Those of ``engine``. ``stop(hit)`` is called when one is met that stops, after its note was recorded."""

    def __init__(self, engine: Engine, stop: Callable[[Hit], None]) -> None:
        self._engine = engine
        self._stop = stop
        self._all: dict[int, Breakpoint] = {}
        self._next = 1
        self._sealed: list[SealedStep] = []
        self._sink: Callable[[Sealed], None] | None = None
        """The ledger's own sink, while these stand before it."""
        self._known: Known | None = None
        self._contents: KnownContents | None = None
        self._mirror: Mirror | None = None
        self._lives: dict[int, int] = {}

    @property
    def told(self) -> list[messages.Breakpoint]:
        """All of them, by their ids."""
        return [each.told for each in self._all.values()]

    # -- set and removed --------------------------------------------------------------------------------------------

    def same(self, predicate: Predicate, hits: int, mark: bool) -> Breakpoint | None:
        """The one that was set with just these."""
        wanted = (predicate.text, hits, mark)
        return next(
            (each for each in self._all.values() if (each.predicate.text, each.hits, each.mark) == wanted),
            None,
        )

    def add(self, predicate: Predicate, hits: int, mark: bool) -> Breakpoint:
        """Set one. Raises :class:`ValueError` where there are :data:`MOST`."""
        if len(self._all) >= MOST:
            raise ValueError(f"there are {MOST} breakpoints: remove one first")
        found = Breakpoint(self._next, predicate, hits, mark, True, Matcher(predicate))
        self._next += 1
        self._all[found.id] = found
        self._begin()
        return found

    def remove(self, id: int) -> Breakpoint:
        """Remove one. Raises :class:`ValueError` where there is none of this id."""
        found = self._all.pop(self._find(id).id)
        self._begin()
        return found

    def enable(self, id: int, enabled: bool) -> Breakpoint:
        """Look at one again, or no longer; it keeps its count. Raises :class:`ValueError` where there is none of this id."""
        found = self._find(id)
        if found.enabled != enabled:
            found.enabled, found.matcher = enabled, Matcher(found.predicate)
            self._begin()
        return found

    def _find(self, id: int) -> Breakpoint:
        found = self._all.get(id)
        if found is None:
            known = ", ".join(map(str, self._all))
            raise ValueError(
                f"there is no breakpoint {id}: {f'those that are set are {known}' if known else 'none is set'}"
            )
        return found

    def _begin(self) -> None:
        """Learn the state from which the breakpoints that are there now are followed; without one, let the ledger alone."""
        engine, ledger = self._engine, self._engine.ledger
        if ledger.pending:
            # It would be in the state, and once more in the next step.
            engine.step_without_work()
        self.look()
        conditions = [each for found in self._all.values() if found.enabled for each in found.conditions]
        if not conditions:
            if self._sink is not None:
                ledger.sink, self._sink = self._sink, None
            self._known = self._contents = self._mirror = None
            self._lives = {}
            return
        if self._sink is None:
            self._sink, ledger.sink = ledger.sink, self._take
        fields = {condition.field for condition in conditions}
        self._known = Known.of(engine)
        if not fields & {"hash", "text"}:
            self._contents = None
        elif self._contents is None:
            self._contents = KnownContents(engine.pool.cache, engine.runner.vocabulary)
        if VIOLATION not in fields:
            self._mirror = None
        elif self._mirror is None:
            self._mirror = Mirror(engine)
        self._lives = self._lives_of(conditions)

    def _lives_of(self, conditions: list[Condition]) -> dict[int, int]:
        """The generations of the blocks of which one life is asked for."""
        spans = [value for each in conditions for value in each.values if isinstance(value, Numbers)]
        blocks = {span.from_ for span in spans if span.generation is not None}
        if not blocks:
            return {}
        pool = self._engine.pool.num_blocks
        generation = block_columns.decode("generation", self._engine.snapshot().blocks.generation, pool)
        return {
            block: 0 if generation is None or block >= pool else int(generation[block])
            for block in blocks
            if block is not None
        }

    # -- looked at --------------------------------------------------------------------------------------------------

    def _take(self, sealed: Sealed) -> None:
        assert self._sink is not None
        self._sink(sealed)
        if isinstance(sealed, SealedStep):
            self._sealed.append(sealed)

    def look(self) -> None:
        """Look at the steps that were sealed since the last time."""
        if not self._sealed:
            return
        steps, self._sealed = self._sealed, []
        for step in steps:
            self._look_at(step)

    def _look_at(self, step: SealedStep) -> None:
        known = self._known
        assert known is not None, "what is known is forgotten when the last step was looked at"
        known.follow(step)
        if self._contents is not None:
            self._contents.learn(step.plain_contents)
        violations = 0 if self._mirror is None else len(self._mirror.follow(step))
        events = StepEvents(step)
        now = Now(events, known, self._lives, self._contents, violations)
        stopping: Hit | None = None
        for each in self._all.values():
            if not each.enabled:
                continue
            places = each.matcher.met(now)
            if places:
                hit = self._hit(each, places, step.step)
                if hit is not None and hit.stops and stopping is None:
                    stopping = hit
        for block in self._lives:
            self._lives[block] += events.births(block)
        if stopping is not None:
            self._stop(stopping)

    def _hit(self, found: Breakpoint, places: list[Place], step: int) -> Hit | None:
        """Count the places; where the count has come to ``hits``, record a note of the first that counts."""
        before = found.count
        found.count += len(places)
        if found.count < found.hits:
            return None
        first = max(0, found.hits - 1 - before)
        place, known = places[first], self._known
        assert known is not None
        request = place.request
        if place.sequence is not None:
            request = known.request_of(place.sequence)
        hit = Hit(
            breakpoint=found.id,
            step=step,
            count=before + first + 1,
            stops=not found.mark,
            index=place.at,
            op=place.op,
            block=place.block,
            request=request,
        )
        found.last = hit
        self._engine.ledger.note(f"breakpoint {found.id}: {found.predicate.text}", "engine", hit)
        return hit
