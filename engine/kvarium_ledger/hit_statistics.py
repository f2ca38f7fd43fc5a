"""How much of what was asked of the prefix cache it had, counted in tokens as vLLM does.

    queries   tokens that a request had when it was admitted     hit rate = hits / queries
    hits      how many of them were found cached

A request counts once, when it begins to run: however often it was looked up while it waited, it was one query. One
that comes back after a preemption asks for what it had computed itself, mostly finds it, and would lift the rate: those
are counted apart. The engine counts its own admissions, and a reader the decisions ``admitted``: the same numbers.
"""

from dataclasses import dataclass

from kvarium_ledger.decisions import Admitted


@dataclass(slots=True)
class HitStatistics:
    """Counts since the session's start, those of resumed requests (``preempted_…``) apart."""

    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0

    def count(self, admitted: Admitted) -> None:
        """A request begins to run, or to run again."""
        if admitted.state_before == "preempted":
            self.preempted_requests += 1
            self.preempted_queries += admitted.tokens
            self.preempted_hits += admitted.hit
        else:
            self.requests += 1
            self.queries += admitted.tokens
            self.hits += admitted.hit

    @property
    def rate(self) -> float:
        """Hits of each query, 0 where nothing was asked."""
        return self.hits / self.queries if self.queries else 0.0
