"""What a finding is."""

import msgspec

from kvarium.why.places import Life, Moment, Who


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What to change: an option by vLLM's name, its value in this recording (None: not told), and the advice."""

    name: str
    now: str | int | float | bool | None
    advice: str


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """An event that proves it, in words and by its place. ``link`` is the address, behind the session's, that tells more."""

    told: str
    at: Moment | None = None
    who: Who | None = None
    life: Life | None = None
    link: str | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that was found: ``kind``, in a sentence, with what was ``measured`` and the ``thresholds`` that it passed.

    ``fault`` names the fault of production of which this is the cause (None: it is none of the four). ``evidence`` are the
    strongest of ``in_all`` events.
    """

    kind: str
    fault: str | None
    told: str
    measured: dict[str, int | float]
    thresholds: dict[str, int | float]
    settings: list[Setting]
    evidence: list[Evidence]
    in_all: int


class LookedFor(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of finding, and from what on it is one."""

    kind: str
    thresholds: dict[str, int | float]


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The answer: the ``findings`` of records up to ``through``, and all that was ``looked_for``."""

    steps: int
    operations: int
    through: int
    findings: list[Finding]
    looked_for: list[LookedFor]
    not_recorded: list[str]
