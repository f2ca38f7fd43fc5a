"""What a finding is."""

import msgspec

from kvarium.why.places import Life, Moment, Who


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What to change: an option by vLLM's name, its value in this recording (None: not told), and the advice."""

    name: str
    now: str | int | float | bool | None
    advice: str


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """An event that proves it, in words and by its place. ``link`` is the address, behind the session's, that tells more.

    ``measured``: the numbers in the words by their names, for who says it in words of another language.
    """

    told: str
    measured: dict[str, int | float] = {}
    at: Moment | None = None
    who: Who | None = None
    life: Life | None = None
    link: str | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that was found: ``kind``, in a sentence, with what was ``measured`` and the ``thresholds`` that it passed.

    ``fault`` names the fault of production of which this is the cause (None: it is none of the four); ``reason`` is which one of
    its kind it is, where there are several. ``evidence`` are the strongest of ``in_all`` events.
    """

    kind: str
    fault: str | None
    reason: str | None = None
    told: str
    measured: dict[str, int | float]
    thresholds: dict[str, int | float]
    settings: list[Setting]
    evidence: list[Evidence]
    in_all: int


class LookedFor(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of finding, of which fault of production it is a cause, and from what on it is one."""

    kind: str
    fault: str | None
    thresholds: dict[str, int | float]


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The answer: the ``findings`` of records up to ``through`` (of ``step``; None: no step was followed), and all that was
    ``looked_for``."""

    steps: int
    operations: int
    through: int
    step: int | None
    findings: list[Finding]
    looked_for: list[LookedFor]
    not_recorded: list[str]
