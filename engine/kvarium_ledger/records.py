"""The records of a session: what the engine writes, the recorder stores and a viewer reads, byte for byte.

A record is one msgpack map with **named** fields (an unknown field is ignored, a missing one has its default), told
apart by ``type`` and numbered without a gap by ``record``. Many values of one kind stand together as a named column:
a msgpack *bin* of little-endian u8, u32, f32 or f64. A bin may begin at any offset, so a reader copies before it looks at
it as an array.

    step       exactly one for each step of the engine: decisions, operations, the digest after them
    text       what a step's record leaves out: token ids, prompts, sampled tokens, pieces of the vocabulary
    control    a command that was applied between two steps, with who asked
    keyframe   the whole state after the record before it
    gap        records that are lost for all
    note       a remark in the recording
"""

from typing import Final

import msgspec

from kvarium_ledger.decisions import AnyDecision, State

VERSION: Final = 2
"""The version of this format, told in the handshake. A reader refuses a newer one by name and reads every older one."""


class Operations(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The operations of a step as sparse columns; see :mod:`kvarium_ledger.operations` for which carries which."""

    kind: bytes = b""
    block: bytes = b""
    cause: bytes = b""
    sequence: bytes = b""
    position: bytes = b""
    group: bytes = b""
    pin: bytes = b""
    ticket: bytes = b""
    filled_before: bytes = b""
    filled_after: bytes = b""
    source: bytes = b""
    content: bytes = b""
    hits: bytes = b""


class Contents(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Contents that were interned: u32 ``content`` and u32 ``parent`` (``NONE``: the first block of a prompt).

    ``hash`` (``hash_size`` bytes each) is there only where parent, tokens and extra keys do not give it: when text is
    not recorded, or when a foreign engine tells nothing else.
    """

    content: bytes = b""
    parent: bytes = b""
    hash: bytes = b""
    hash_size: int = 0

    @property
    def hashes(self) -> list[bytes]:
        """The hashes one by one; none: they are not told."""
        size = self.hash_size
        return [self.hash[at : at + size] for at in range(0, len(self.hash), size)] if size > 0 else []


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """Three lanes of two u32 each (8 bytes, little-endian): over blocks, table entries and requests.

    See :mod:`kvarium_ledger.digest` for the sums.
    """

    blocks: bytes
    tables: bytes
    requests: bytes


class Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """The part common to all: ``record``, its number in the session, without a gap from 0."""

    record: int


class Step(Record, frozen=True, kw_only=True, tag="step"):
    """One step of the engine.

    ``time`` is its start and ``sealed`` the moment when the record was closed, both in ns since the session's start;
    the ``…_ns`` are durations. ``tokens`` of ``budget`` (``max_num_batched_tokens``) were scheduled. ``op`` is the
    index in the session of its first operation. ``sampled`` (u32) names the sequences that got a token, in order,
    before operation ``sampled_op``; which tokens is told in the ``text`` record of the same step. ``digest`` holds
    after the record; ``audit`` is there when the engine recomputed its lanes from its real objects.
    """

    step: int
    time: int
    sealed: int
    op: int
    digest: Digest
    schedule_ns: int = 0
    forward_ns: int = 0
    sample_ns: int = 0
    seal_ns: int = 0
    tokens: int = 0
    budget: int = 0
    operations: Operations = Operations()
    decisions: list[AnyDecision] = []
    sampled: bytes = b""
    sampled_op: int = 0
    contents: Contents = Contents()
    audit: Digest | None = None


class Prompt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The prompt of a request: its token ids (u32) and, where there is one, its text.

    ``hash`` (32 bytes) stands there instead where hashes of text are recorded: prompts of one session are the same tokens
    exactly where it is the same (:mod:`kvarium_ledger.privacy`).
    """

    request: int
    tokens: bytes = b""
    text: str | None = None
    hash: bytes = b""


class Pieces(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Pieces of the vocabulary: u32 ``token`` and its text.

    A piece is told in the first ``text`` record that has its token, and after a gap anew. A token that is only a part
    of a character has its bytes as its piece, ``<0xE2>`` each: runs of those are decoded together, as UTF-8. A token
    whose piece is never told has no text.
    """

    token: bytes = b""
    piece: list[str] = []


class ContentKeys(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Contents whose hashes have extra keys: u32 ``content``, and the ``keys`` that stand in the hash of each of them.

    ``keys`` are as they enter the hash, for example ``[["lora", name, path], ["cache_salt", salt]]``.
    """

    content: bytes = b""
    keys: list[list[str]] = []


class Logprobs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How likely sampled tokens were, for the requests that ask: natural logs of the softmax of the model's own logits.

    One value a sampled token: u32 ``sampled``, its place in :attr:`Text.sampled`; f32 ``logprob``; u32 ``rank``, how many
    tokens were at least as likely (1: only itself); u32 ``count``, how many of the likeliest tokens are told with it.
    Those stand one behind the other, the likeliest first: u32 ``top_token``, f32 ``top_logprob``.
    """

    sampled: bytes = b""
    logprob: bytes = b""
    rank: bytes = b""
    count: bytes = b""
    top_token: bytes = b""
    top_logprob: bytes = b""


class Text(Record, frozen=True, kw_only=True, tag="text"):
    """The text of the step ``step``, so that who does not want it can leave it out.

    ``tokens`` (u32) are the token ids of the contents ``content`` (u32), block after block; those of them that have extra
    keys stand in ``extra`` too, once for each kind of keys. ``sampled`` (u32) are the
    sampled tokens in the order of :attr:`Step.sampled`; ``logprobs`` is there when a request asked for them.
    """

    step: int
    content: bytes = b""
    tokens: bytes = b""
    extra: list[ContentKeys] = []
    prompts: list[Prompt] = []
    sampled: bytes = b""
    pieces: Pieces = Pieces()
    logprobs: Logprobs = Logprobs()


class Control(Record, frozen=True, kw_only=True, tag="control"):
    """A command that the engine answered between two steps: ``error`` is None when it was carried out."""

    time: int
    id: str
    name: str
    args: dict[str, str | int | float | bool | None] = {}
    asked_by: str = ""
    error: str | None = None


class BlockColumns(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of all blocks, a value a block: an **absent** column means its default for every block.

    u32 ``generation`` (0), u32 ``count`` (0), f64 ``ticket`` (the block's number; NaN: not queued), u32 ``content``
    (``NONE``), u32 ``filled`` (0), u32 ``hits`` (0); each in the narrowest form that holds its values, which its length tells
    (:mod:`kvarium_ledger.block_columns`).
    """

    generation: bytes = b""
    count: bytes = b""
    ticket: bytes = b""
    content: bytes = b""
    filled: bytes = b""
    hits: bytes = b""


class TableColumns(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All entries of all block tables: u32 ``sequence``, u8 ``group`` (absent: 0), u32 ``position``, u32 ``block``."""

    sequence: bytes = b""
    group: bytes = b""
    position: bytes = b""
    block: bytes = b""


class PinColumns(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All pins: u32 ``block``, u8 ``pin``."""

    block: bytes = b""
    pin: bytes = b""


class RequestState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request in the engine; see :class:`kvarium_ledger.decisions.Submitted`. ``cache_salt`` is told only there: it is text."""

    request: int
    name: str
    state: State
    place: float
    prompt_tokens: int
    max_tokens: int
    n: int = 1
    priority: int = 0
    precedence: int = 0
    beam_width: int | None = None
    lora_name: str | None = None


class SequenceState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A sequence of a request in the engine."""

    sequence: int
    request: int
    index: int
    parent: int | None = None


class Keyframe(Record, frozen=True, kw_only=True, tag="keyframe"):
    """The whole state after all that the session holds up to and with this record.

    ``step`` is the last step's number (-1: none yet) and ``op`` the index of the next operation. A keyframe of the
    engine's has a number of its own and was computed from its real objects (``audited``); one that a follower made of
    its mirror, to let another join or to seek, bears the number of the last record that it holds.
    ``utc_us`` is the wall clock in µs since 1970 at ``time`` ns of the session. ``contents`` lists those that blocks hold,
    with their ancestors; every content below ``next_content`` was interned at some time, and may be held again.

    A keyframe with ``since`` tells of the blocks only what a follower lacks that has them as of that record: ``blocks`` holds
    the values of the blocks ``changed`` (u32, ascending) alone, in that order. It is an answer to a seek, never a record.
    """

    step: int
    time: int
    utc_us: int
    op: int
    digest: Digest
    blocks: BlockColumns = BlockColumns()
    tables: TableColumns = TableColumns()
    pins: PinColumns = PinColumns()
    requests: list[RequestState] = []
    sequences: list[SequenceState] = []
    contents: Contents = Contents()
    next_content: int = 0
    audited: bool = False
    since: int | None = None
    changed: bytes = b""


class Gap(Record, frozen=True, kw_only=True, tag="gap"):
    """The records ``first`` to ``last`` (both included) are lost for all; a keyframe follows.

    ``record`` is ``last + 1``, so that the numbers of a session still have no hole.
    """

    time: int
    first: int
    last: int
    reason: str


class Hit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where an engine met a breakpoint, the ``count``-th time: in ``step``, and it ``stops`` there or only marks it.

    Of an event, ``index`` is its place in its step's record (decisions stand before the operation before which they hold) and
    ``op`` its number, or that of the operation before which it holds; ``block`` is an operation's, ``request`` whom it served.
    Of a request that waits only that is there, and of the state after the step neither.
    """

    breakpoint: int
    step: int
    count: int
    stops: bool = False
    index: int | None = None
    op: int | None = None
    block: int | None = None
    request: int | None = None


class Note(Record, frozen=True, kw_only=True, tag="note"):
    """A remark: by whom, and the text; an engine's own tells which breakpoint was met (``hit``)."""

    time: int
    text: str
    by: str = ""
    hit: Hit | None = None


AnyRecord = Step | Text | Control | Keyframe | Gap | Note
"""Any record; the field ``type`` tells which."""
