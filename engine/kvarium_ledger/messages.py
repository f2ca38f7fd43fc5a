"""What engine, backend and viewers say to one another beside the records.

Each websocket message is one *frame* (:mod:`kvarium_ledger.codec`): the bytes of a record, or of one of these.

    engine -> backend   Hello, then records; Answer; Health; Bye
    backend -> engine   Welcome, then Ack and Command
    backend -> viewer   the engine's Hello, a Keyframe, then the engine's records; Status; Skip; Bye
"""

import msgspec

from kvarium_ledger.records import Hit

Scalar = str | int | float | bool | None
Argument = Scalar | list[int | str] | dict[str, float]
"""What a command may be given."""
Result = Scalar | list[float]
"""What it may answer."""


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """The part common to all: the field ``type``."""


class Hello(Message, frozen=True, kw_only=True, tag="hello"):
    """An engine's first words: who it is and what a fold needs to know. Viewers get the same bytes.

    ``session`` is a UUID made by the engine at its start; a link that breaks continues it. ``utc_us`` is the wall clock
    (µs since 1970) at 0 ns of the session. Sizes are in slots (tokens) and bytes; ``config`` holds vLLM's flags by
    their names (``max_num_batched_tokens``, ``max_num_seqs``, ``enable_prefix_caching``, ...). A rank or a replica is a
    session of its own: ``deployment`` is a name that all of one deployment bear, ``rank`` which of them this is. They are
    for engines that have several; a reader may group sessions by them, and kvarium's own engine and server leave them be.
    ``replay_of`` is there where no engine speaks: a recording of that session is sent again, and nothing can be asked of it.
    """

    version: int
    session: str
    utc_us: int
    num_blocks: int
    block_size: int
    engine: str
    model: str
    runner: str
    device: str
    name: str = ""
    groups: int = 1
    kv_bytes_per_block: int = 0
    allow_control: bool = False
    record_text: str = "full"
    pid: int = 0
    deployment: str | None = None
    rank: int | None = None
    replay_of: str | None = None
    config: dict[str, Scalar] = {}


class Welcome(Message, frozen=True, kw_only=True, tag="welcome"):
    """The backend accepts an engine: ``ack`` is the last record of the session that it has committed (None: none)."""

    version: int
    ack: int | None = None


class Rejected(Message, frozen=True, kw_only=True, tag="rejected"):
    """The backend does not accept an engine, for a reason that a reconnection would not change."""

    reason: str


class Ack(Message, frozen=True, kw_only=True, tag="ack"):
    """Every record up to and with ``record`` is committed."""

    record: int


class Command(Message, frozen=True, kw_only=True, tag="command"):
    """What somebody asks of the engine: ``submit``, ``abort``, ``hold``, ``step``, ``break`` … (:data:`kvarium_ledger.privacy.COMMANDS`).

    It is applied between two steps and answered with the same ``id``.
    """

    id: str
    name: str
    args: dict[str, Argument] = {}
    asked_by: str = ""


class Answer(Message, frozen=True, kw_only=True, tag="answer"):
    """The engine's answer to the command ``id``: ``error`` is None when it was carried out."""

    id: str
    error: str | None = None
    result: dict[str, Result] = {}


class Breakpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an engine stops at, or only marks: ``when`` its predicate holds for the ``hits``-th time; it has ``count`` times so far.

    ``last`` is the hit that was told of last, by a note.
    """

    id: int
    when: str
    hits: int = 1
    mark: bool = False
    enabled: bool = True
    count: int = 0
    last: Hit | None = None


class Health(Message, frozen=True, kw_only=True, tag="health"):
    """The engine's figures of the last second: rates a second, ns of the engine's thread, bytes not yet acknowledged.

    ``prefix_cache_queries`` and ``…_hits`` are in tokens and since the session's start; see
    :mod:`kvarium_ledger.hit_statistics`. A ``held`` engine takes no step of its own, but goes on to ``run_to`` if that is there.
    ``slow`` is the most steps a second that it takes, if there is a most. ``stop`` is what holds it, of its ``breakpoints``. What is
    told of its control is told at once when it changes.
    """

    time: int
    operations_per_s: float = 0.0
    steps_per_s: float = 0.0
    bytes_per_s: float = 0.0
    step_ns: int = 0
    ledger_ns: int = 0
    unacknowledged_bytes: int = 0
    queue_records: int = 0
    gaps: int = 0
    held: bool = False
    prefix_cache_queries: int = 0
    prefix_cache_hits: int = 0
    prefix_cache_preempted_queries: int = 0
    prefix_cache_preempted_hits: int = 0
    run_to: int | None = None
    slow: float | None = None
    stop: Hit | None = None
    breakpoints: list[Breakpoint] = []


class Status(Message, frozen=True, kw_only=True, tag="status"):
    """The backend's view of a session, for viewers: linked to its engine or not, recorded or not, how far.

    ``fold_record`` is how far the backend's own fold came, ``committed`` how far the recorder did; ``violation`` is the
    first fault that the backend's fold met. ``skips`` and ``lag_ms`` are of the viewer that is told: how often it got a
    :class:`Skip`, and ms from the ``sealed`` of the last record that it was sent to its sending, by the clocks of engine and
    backend; ``viewers_skips`` is of all viewers that this session had since the backend's start.
    """

    linked: bool
    state: str
    last_record: int | None = None
    committed: int | None = None
    fold_record: int | None = None
    viewers: int = 0
    recording: str = ""
    recording_bytes: int = 0
    recording_error: str | None = None
    violation: str | None = None
    skips: int = 0
    viewers_skips: int = 0
    lag_ms: float | None = None


class Skip(Message, frozen=True, kw_only=True, tag="skip"):
    """The records ``first`` to ``last`` were left out for this viewer alone; a keyframe follows.

    It was too slow, or asked for a lower rate, and the keyframe is fewer bytes.
    """

    first: int
    last: int


class Bye(Message, frozen=True, kw_only=True, tag="bye"):
    """The session ends by itself."""

    reason: str = ""


AnyMessage = Hello | Welcome | Rejected | Ack | Command | Answer | Health | Status | Skip | Bye
"""Any message that is not a record."""
