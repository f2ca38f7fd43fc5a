"""Where requests come from when nobody types: a trace that was recorded, or a seeded mix."""

from typing import Protocol

from kvarium_engine.engine import Engine


class Workload(Protocol):
    """Feeds an engine between its steps."""

    def feed(self, engine: Engine) -> None:
        """Submit and abort what is due before the next step."""
        ...

    @property
    def done(self) -> bool:
        """Nothing more will come."""
        ...

    def pause(self, engine: Engine) -> float:
        """Seconds until something is due; asked of an idle engine."""
        ...


class NoWorkload:
    """Nothing comes by itself: requests are submitted by command."""

    done = False

    def feed(self, engine: Engine) -> None:
        """Nothing."""

    def pause(self, engine: Engine) -> float:
        """A quarter of a second."""
        return 0.25
