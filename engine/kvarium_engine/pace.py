"""The pace of an engine: whether it may take its next step, and how soon.

runs ── hold ──▶ held ── step n ──▶ n steps, held      slow: at most so many steps a second, in any of these
  ▲               │ └── run to s ──▶ up to step s, held
  └── release ────┘
"""

import time


class Pace:
    """``held``: it takes no step of its own; ``steps`` it still may, or all up to the step ``run_to``. ``slow`` is the most steps a
    second that it takes, None where there is no most."""

    def __init__(self) -> None:
        self.held = False
        self.steps = 0
        self.run_to: int | None = None
        self.slow: float | None = None
        self._due = 0.0

    @property
    def may_step(self) -> bool:
        """May the engine take a step, as soon as :attr:`pause` has passed?"""
        return not self.held or self.steps > 0 or self.run_to is not None

    @property
    def pause(self) -> float:
        """In how many seconds the next step is due; 0: now."""
        return 0.0 if self.slow is None else max(0.0, self._due - time.monotonic())

    def hold(self) -> None:
        """Take no more steps."""
        self.held, self.steps, self.run_to = True, 0, None

    def release(self) -> None:
        """Go on."""
        self.held, self.steps, self.run_to = False, 0, None

    def step(self, steps: int) -> None:
        """Take so many more steps and hold."""
        self.held, self.run_to = True, None
        self.steps += steps

    def go_to(self, step: int) -> None:
        """Go on up to a step that has not been made, and hold behind it."""
        self.held, self.steps, self.run_to = True, 0, step

    def limit(self, rate: float | None) -> None:
        """Take at most so many steps a second; None: as many as can be."""
        self.slow = rate
        self._due = time.monotonic()

    def stepped(self, step: int) -> None:
        """The engine made ``step``."""
        if self.slow is not None:
            self._due = max(self._due + 1 / self.slow, time.monotonic())
        if self.steps:
            self.steps -= 1
        if self.run_to is not None and step >= self.run_to:
            self.run_to = None
