"""Why did the prefix of a request miss: what was not found of it when it was admitted, and why not.

the request    ▐ hit ▐ hit ▐ missed ▐ …                     tokens in blocks; the last token is always computed
               the missed block's content was     held by a block once, and lost     evicted
                                                  being filled by somebody           unlabelled
                                                  held under other keys              other_key
                                                  never there: behind what was hit, others went on otherwise   diverges
"""

from typing import Final

import numpy as np

from kvarium.errors import DamagedRecordingError, OutOfRangeError
from kvarium.filtering.sheet import Place
from kvarium.recording.index_rows import Row
from kvarium.recording.transcript import read_transcript
from kvarium.sql.walk import Batch
from kvarium.why.missed.answer import Admission, Miss, Reason
from kvarium.why.missed.histories import Histories
from kvarium.why.missed.lineage import Keys, Lineage, Sought
from kvarium.why.missed.pending import Candidates, Pending
from kvarium.why.past import Past
from kvarium.why.places import moment_of
from kvarium_ledger.codec import FrameError
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.fold import Fold
from kvarium_ledger.hashes import block_hash, root_hash
from kvarium_ledger.operations import Cause, Operation
from kvarium_ledger.records import Gap, Keyframe, Step

_MOST: Final = 20


def why_missed(past: Past, request: str, step: int | None = None) -> Miss:
    """Of a request's first admission; with ``step`` of the last one up to it. Raises :class:`OutOfRangeError` where there is none."""
    number = past.request(request)
    rows, told = _admissions(past, number)
    upto = rows if step is None else [row for row in rows if row["step"] <= step]
    if not upto:
        raise OutOfRangeError(_none(past, number, step, told))
    row = upto[0] if step is None else upto[-1]
    return _Question(past, number, row, [each for each in rows if each is not row], told).answer()


def _admissions(past: Past, number: int) -> tuple[list[Row], list[str]]:
    """All admissions of a request, and what of them is not recorded."""
    found: list[Row] = []
    told: list[str] = []
    for row in past.search(f"decision:admitted owner:r{number}", Place(0, 0), "later", past.steps_of(number)):
        if row["kind"] == "gap":
            told.append(f"whether it was admitted in records {row['first']} to {row['last']}, which are lost")
        elif row["decision"]["request"] == number:
            found.append(row)
    return found, told


def _none(past: Past, number: int, step: int | None, lost: list[str]) -> str:
    upto = "" if step is None else f" up to step {step}"
    row = past.requests.get(number)
    if lost or row is None or row["submitted_record"] is None:
        return f"no admission of r{number} is recorded{upto}, and not all is: records are lost, or not indexed yet"
    return (
        f"{past.named(number)} was not admitted{upto}, so that nothing was looked up for it: "
        f"it is {row['state']} at the recording's end"
    )


class _Question:
    """One admission, and what is found out about it."""

    def __init__(self, past: Past, number: int, row: Row, others: list[Row], told: list[str]) -> None:
        self._past = past
        self._number = number
        self._row = row
        self._others = others
        self._told = told
        self._decision = row["decision"]
        self._size = past.block_size
        self._tokens, self._hit = int(self._decision["tokens"]), int(self._decision.get("hit", 0))
        self._at = moment_of(row)

    def answer(self) -> Miss:
        missed = self._decision.get("missed")
        if missed is not None:
            return self._missed(bytes.fromhex(missed))
        left = self._tokens - self._hit
        if self._decision.get("cap_applied"):
            return self._miss("cap")
        if self._past.config.get("enable_prefix_caching") is False:
            return self._miss("off")
        if left < self._size:
            return self._miss("short")
        self._told.append("whether there is a prefix cache: the engine names no block that was missed")
        return self._miss("not_recorded")

    def _miss(self, reason: Reason, **more: object) -> Miss:
        who = self._past.who(self._number)
        assert who is not None
        given: dict[str, object] = dict.fromkeys(
            (
                "block",
                "first",
                "end",
                "missed",
                "keys",
                "evicted",
                "unlabelled",
                "other_key",
                "nearest",
                "behind",
            )
        )
        given |= {"capped": False} | more
        return Miss(
            who=who,
            at=self._at,
            resumed=self._decision.get("state_before") == "preempted",
            reason=reason,
            tokens=self._tokens,
            hit=self._hit,
            block_size=self._size,
            others=[
                Admission(
                    at=moment_of(row),
                    tokens=row["decision"]["tokens"],
                    hit=row["decision"].get("hit", 0),
                    resumed=row["decision"].get("state_before") == "preempted",
                )
                for row in self._others[:_MOST]
            ],
            not_recorded=self._told,
            **given,  # type: ignore[arg-type]
        )

    # -- the block that was missed ------------------------------------------------------------------------------------

    def _missed(self, missed: bytes) -> Miss:
        past, at, block = self._past, self._at, self._hit // self._size
        fold, record = past.before(at.record, at.op)
        columns = OperationColumns.decode(record.operations)
        sequence = self._sequence(fold, record)
        looked = self._looked_up(columns, record.op, sequence)
        if looked > at.op:
            # What was gathered before is told before the hits.
            fold.stand(record, looked)
        hits = self._hits(columns, record.op, sequence, fold)
        keys, tokens = self._text(sequence)
        if tokens is not None and self._hash(tokens, keys, block) != missed:
            self._told.append(
                "what it missed: the hash that is told does not follow from its tokens and the keys that are recorded"
            )
            tokens = None
        own = self._own(columns, record.op, sequence)
        lineage = Lineage(Sought(hits, missed, tokens, keys, own), self._size)
        candidates = Candidates(fold, block, lineage.same[block - 1] if block else set())
        histories = Histories(past, lineage, fold)
        pending = self._follow(lineage, candidates, fold, record, columns, looked)
        told = {
            "block": block,
            "first": self._hit,
            "end": self._hit + self._size,
            "missed": missed.hex(),
            "keys": keys,
            "capped": self._hit + self._size == self._tokens,
            "behind": None if tokens is None else histories.behind(),
        }
        trail = histories.last()
        if trail is not None:
            loss = histories.loss(trail)
            if trail.lacks is not None:
                self._told.append(trail.lacks)
            return self._miss("evicted", evicted=loss, **told)
        other = histories.other_key()
        nearest = histories.nearest(tokens)
        told |= {"unlabelled": pending, "other_key": other, "nearest": nearest}
        self._told += lineage.lacks
        if pending is not None:
            return self._miss("unlabelled", **told)
        if other is not None:
            return self._miss("other_key", **told)
        if lineage.lacks or (tokens is None and past.record_text == "full"):
            return self._miss("not_recorded", **told)
        if tokens is None and not block:
            self._told.append("whether equal tokens were cached under other keys: text is not recorded")
        return self._miss("never_seen" if nearest is None else "diverges", **told)

    def _sequence(self, fold: Fold, record: Step) -> int:
        """The sequence whose tokens were looked up: the first one that is there, or is created then."""
        there = fold.state.facts[self._number].sequences
        alive = [each for each in there if not fold.state.sequences[each].dropped]
        if alive:
            return alive[0]
        for decision in record.decisions:
            if decision.op >= self._at.op and getattr(decision, "request", None) == self._number:
                created = getattr(decision, "sequence", None)
                if created is not None:
                    return int(created)
        raise DamagedRecordingError(f"record {record.record} admits r{self._number} without a sequence")

    def _mine(self, columns: OperationColumns, first: int, sequence: int) -> np.ndarray:
        mine: np.ndarray = columns.sequence == sequence
        mine[: self._at.op - first] = False
        return mine

    def _looked_up(self, columns: OperationColumns, first: int, sequence: int) -> int:
        """The operation before which the cache was as it was looked up."""
        hits = self._prefix_hits(columns, first, sequence)
        return self._at.op if not len(hits) else first + int(hits[0])

    def _prefix_hits(self, columns: OperationColumns, first: int, sequence: int) -> np.ndarray:
        taken = columns.mask(Operation.reuse, Operation.share) & (columns.cause == int(Cause.prefix_hit))
        return np.flatnonzero(taken & self._mine(columns, first, sequence))[: self._hit // self._size]

    def _hits(self, columns: OperationColumns, first: int, sequence: int, fold: Fold) -> list[int]:
        """The contents that were hit, in the order of the prompt."""
        blocks = columns.block[self._prefix_hits(columns, first, sequence)]
        if len(blocks) != self._hit // self._size:
            raise DamagedRecordingError(
                f"record {self._at.record}: r{self._number} is said to hit {self._hit} tokens, and hits {len(blocks)} blocks"
            )
        return [int(content) for content in fold.state.blocks.np_content[blocks]]

    def _own(self, columns: OperationColumns, first: int, sequence: int) -> int | None:
        """The content by which it labels the missed block in this step; None: it does not come to that."""
        labels = np.flatnonzero(columns.mask(Operation.cache) & self._mine(columns, first, sequence))
        return int(columns.expand("content")[labels[0]]) if len(labels) else None

    # -- its text -----------------------------------------------------------------------------------------------------

    def _text(self, sequence: int) -> tuple[Keys, np.ndarray | None]:
        """Its extra keys, and the tokens of its full blocks; None: they are not recorded."""
        past = self._past
        submitted = self._submitted()
        lora, salt = submitted.get("lora_name"), submitted.get("cache_salt")
        keys = [["lora", lora, lora]] if lora is not None else []
        if salt is not None:
            keys.append(["cache_salt", salt])
        if past.record_text != "full":
            self._told.append("tokens, and whether it has a cache salt: text is not recorded")
            return keys or None, None
        try:
            transcript = read_transcript(past.reader, past.number, self._number, self._at.record)
            told = transcript.of(sequence)
        except FrameError as error:
            raise DamagedRecordingError(str(error)) from None
        if told["prompt"] is None or told["tokens"] is None:
            self._told.append(f"its tokens: {transcript.why or 'they are lost'}")
            return keys or None, None
        blocks = self._tokens // self._size
        every = np.array([*told["prompt"], *told["tokens"]][: blocks * self._size], dtype="<u4")
        if len(every) < blocks * self._size:
            self._told.append("all of its tokens: some that it sampled are lost")
            return keys or None, None
        return keys or None, every.reshape(blocks, self._size)

    def _submitted(self) -> Row:
        for row in self._past.search(
            f"decision:submitted owner:r{self._number}",
            Place(self._row["record"], self._row["index"]),
            steps=self._past.steps_of(self._number),
        ):
            if row["kind"] != "gap" and row["decision"]["request"] == self._number:
                return dict(row["decision"])
        self._told.append("its cache salt, if it has one: its submission is not recorded")
        return {}

    def _hash(self, tokens: np.ndarray, keys: Keys, block: int) -> bytes:
        value = root_hash(str(self._past.config.get("prefix_caching_hash_seed", "0")))
        lora = [each for each in keys or [] if each[0] == "lora"] or None
        for depth in range(block + 1):
            value = block_hash(value, tokens[depth].tolist(), lora if depth else keys)
        return value

    # -- what was in the cache ------------------------------------------------------------------------------------------

    def _follow(
        self,
        lineage: Lineage,
        candidates: Candidates,
        fold: Fold,
        record: Step,
        columns: OperationColumns,
        looked: int,
    ) -> Pending | None:
        """Follow the records up to the admission, and on, as long as one of the candidates may be labelled."""
        past = self._past
        for each in past.everything(with_text=lineage.sought.tokens is not None):
            if isinstance(each, Gap):
                lineage.lose(each)
                if each.record > record.record:
                    return None
            elif isinstance(each, Keyframe) and each.record < record.record:
                lineage.load(each, past.num_blocks)
            elif isinstance(each, Batch):
                for step in each.steps:
                    text = each.texts.get(step.step)
                    if step.record < record.record:
                        lineage.take(step, text)
                        if lineage.may_follow(step):
                            found = OperationColumns.decode(step.operations)
                            lineage.follow(found, step.op, step.op, step.op + len(found))
                        continue
                    after = step.op
                    if step.record == record.record:
                        after = looked
                        content = columns.expand("content")[: looked - step.op]
                        labels = columns.mask(Operation.cache)[: looked - step.op]
                        lineage.take(step, text, set(content[labels].tolist()))
                        lineage.follow(columns, step.op, step.op, looked)
                        # A block that was taken before may be told to have lost its content later in the step.
                        lineage.follow(columns, step.op, looked, step.op + len(columns), only_lost=True)
                        lineage.closed = True
                        if Histories(past, lineage, fold).last() is not None:
                            return None
                    if not candidates:
                        return None
                    lineage.take(step, text)
                    pending = candidates.follow(past, fold, step, after, lineage.same[lineage.at])
                    if pending is not None:
                        return pending
        return None
