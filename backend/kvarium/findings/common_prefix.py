"""A common prefix that never hits: several requests begin alike, and not one of them found anything in the prefix cache.

    off        the cache is off                                            the tokens of their first blocks are equal
    short      what is common is shorter than a block                      only full blocks are cached
    other_key  each has a salt or LoRA of its own                          equal tokens, and yet other prefixes
    evicted    their first block was lost and labelled again between them  each computes it anew

Prompts are told apart by their first block, and by its first half where the whole of it differs. Only where text is recorded.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import ClassVar, Final

import numpy as np

from kvarium.findings.answer import Evidence, Finding, Setting
from kvarium.findings.blocks import Blocks, Changes
from kvarium.findings.contents import Again, Contents
from kvarium.findings.part import Part, moment
from kvarium.findings.watch import Watch
from kvarium.why.past import Past
from kvarium.why.questions import Evicted, MissedAt, link_of
from kvarium.why.words import plural
from kvarium_ledger.columns import u32
from kvarium_ledger.decisions import Admitted, Submitted
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import Keyframe, Step, Text

_KEPT: Final = 5
_GROUPS: Final = 1 << 17
"""So many beginnings are followed: those that came first."""

Key = tuple[str | None, str | None]


@dataclass(slots=True)
class _Group:
    """Requests that begin alike: the common beginning of all their prompts, their keys, and what their admissions found."""

    common: bytes
    requests: int = 0
    admitted: int = 0
    hits: int = 0
    again: int = 0
    keys: set[Key] = field(default_factory=set)
    firsts: set[bytes] = field(default_factory=set)
    evidence: list[Evidence] = field(default_factory=list)
    losses: list[Evidence] = field(default_factory=list)


class CommonPrefix(Watch):
    """Groups prompts by how they begin, and follows what their first admissions found."""

    kind = "common_prefix_never_hits"
    fault = "prefix cache off, or prefixes too short, or evicted between"
    thresholds: ClassVar[dict[str, int | float]] = {"requests": 4}

    def __init__(self, past: Past, blocks: Blocks, contents: Contents) -> None:
        super().__init__(past, blocks, contents)
        self._block = 4 * past.block_size
        self._half = self._block // 2
        self._whole: dict[bytes, _Group] = {}
        self._short: dict[bytes, _Group] = {}
        self._of: dict[int, list[_Group]] = {}
        self._contents: dict[int, _Group] = {}
        self._keys: dict[int, Key] = {}
        self._texts: dict[int, Text] = {}
        self.decisions = {Submitted: self._on_submitted, Admitted: self._on_admitted}

    def load(self, keyframe: Keyframe) -> None:
        # Whose prompts are not recorded is in no group: its admissions count nowhere.
        self._of.clear()
        self._keys.clear()

    def begin(self, part: Part, changes: Changes) -> None:
        self._texts = part.texts
        for text in part.texts.values():
            for prompt in text.prompts:
                self._prompt(prompt.request, bytes(prompt.tokens))

    def _prompt(self, request: int, tokens: bytes) -> None:
        groups = []
        if len(tokens) >= self._block:
            groups.append(self._group(self._whole, tokens[: self._block], tokens))
        if self._half and len(tokens) >= self._half:
            groups.append(self._group(self._short, tokens[: self._half], tokens[: self._block]))
        found = [group for group in groups if group is not None]
        for group in found:
            group.requests += 1
            group.common = _common(group.common, tokens)
            if len(group.firsts) < self.thresholds["requests"]:
                group.firsts.add(_digest(tokens[: self._block]))
        if found:
            self._of[request] = found

    def _group(self, groups: dict[bytes, _Group], beginning: bytes, common: bytes) -> _Group | None:
        key = _digest(beginning)
        group = groups.get(key)
        if group is None and len(groups) < _GROUPS:
            group = groups[key] = _Group(common)
        return group

    def _on_submitted(self, decision: Submitted, step: Step) -> None:
        self._keys[decision.request] = (decision.lora_name, decision.cache_salt)

    def _on_admitted(self, decision: Admitted, step: Step) -> None:
        groups = self._of.pop(decision.request, ())
        key = self._keys.pop(decision.request, (None, None))
        for group in groups:
            group.admitted += 1
            group.hits += decision.hit > 0
            if len(group.keys) < self.thresholds["requests"]:
                group.keys.add(key)
            if len(group.evidence) < _KEPT:
                told = f"admitted with {decision.hit} of {decision.tokens} tokens in the prefix cache"
                who = self.past.who(decision.request)
                link = link_of(MissedAt(request=f"r{decision.request}"))
                measured: dict[str, int | float] = {"hit": decision.hit, "tokens": decision.tokens}
                group.evidence.append(
                    Evidence(told=told, measured=measured, at=moment(step, decision.op), who=who, link=link)
                )

    def take(self, part: Part, again: Again) -> None:
        for step in part.steps:
            text = self._texts.get(step.step)
            if text is not None and step.contents.content:
                self._learn(step, text)
        if not self._contents:
            return
        followed = np.isin(
            again.content, np.fromiter(self._contents, dtype=np.int64, count=len(self._contents))
        )
        for index in np.flatnonzero(followed).tolist():
            group = self._contents[int(again.content[index])]
            group.again += 1
            if len(group.losses) < _KEPT:
                place, lost = int(again.place[index]), int(again.lost[index])
                who = part.who(self.past, place)
                told = f"its first block was computed again: it had been evicted at op {lost}"
                link = link_of(Evicted(op=lost))
                measured: dict[str, int | float] = {"evicted_op": lost}
                group.losses.append(
                    Evidence(told=told, measured=measured, at=part.moment(place), who=who, link=link)
                )

    def _learn(self, step: Step, text: Text) -> None:
        """Which contents are the first blocks of groups."""
        parent = u32(step.contents.parent)
        told = u32(text.content)
        if len(told) != len(parent):
            return
        for place in np.flatnonzero(parent == NONE).tolist():
            tokens = bytes(text.tokens[place * self._block : (place + 1) * self._block])
            group = self._whole.get(_digest(tokens))
            if group is not None:
                self._contents[int(told[place])] = group

    # -- what was found -----------------------------------------------------------------------------------------------

    def found(self) -> list[Finding]:
        least = self.thresholds["requests"]
        by_reason: dict[str, list[_Group]] = {}
        for group in self._whole.values():
            if group.admitted >= least and not group.hits:
                reason = self._why(group)
                if reason is not None:
                    by_reason.setdefault(reason, []).append(group)
        is_on = self.past.config.get("enable_prefix_caching") is not False
        for group in self._short.values():
            # All first blocks differ, and so what is common is shorter.
            differs = len(group.firsts) >= min(least, group.requests) and len(group.common) < self._block
            if is_on and group.admitted >= least and not group.hits and differs:
                by_reason.setdefault("short", []).append(group)
        return [self._finding(reason, groups) for reason, groups in by_reason.items()]

    def _why(self, group: _Group) -> str | None:
        if self.past.config.get("enable_prefix_caching") is False:
            return "off"
        if len(group.keys) >= self.thresholds["requests"]:
            return "other_key"
        return "evicted" if group.again else None

    def _finding(self, reason: str, groups: list[_Group]) -> Finding:
        groups = sorted(groups, key=lambda group: -group.admitted)
        requests = sum(group.admitted for group in groups)
        largest = groups[0]
        common = len(largest.common) // 4
        size = self.past.block_size
        words = {
            "off": "the prefix cache is off",
            "short": f"that is shorter than a block of {size}, and only full blocks are cached",
            "other_key": "each has a cache salt or LoRA of its own, so that equal tokens are another prefix",
            "evicted": f"their first block was evicted and computed again {plural(largest.again, 'time')}",
        }
        told = (
            f"a common prefix that never hits: {plural(largest.admitted, 'request')} begin with the same {plural(common, 'token')}, and "
            f"none found any in the prefix cache: {words[reason]}"
        )
        if len(groups) > 1:
            told += f"; so do {plural(len(groups) - 1, 'other group')}"
        evidence = (largest.losses if reason == "evicted" else []) + largest.evidence
        return Finding(
            kind=self.kind,
            fault=self.fault,
            reason=reason,
            told=told,
            measured={
                "requests": requests,
                "groups": len(groups),
                "common_tokens": common,
                "evicted_between": largest.again,
                "requests_of_largest": largest.admitted,
                "block_size": size,
            },
            thresholds=self.thresholds,
            settings=list(self._settings(reason)),
            evidence=evidence[:_KEPT],
            in_all=requests,
        )

    def _settings(self, reason: str) -> Iterable[Setting]:
        if reason == "off":
            if self.past.config.get("memory_backend") == "contiguous":
                yield self.setting("memory_backend", "paged: contiguous memory can share no block")
            yield self.setting("enable_prefix_caching", "true")
        elif reason == "short":
            yield self.setting("block_size", "smaller blocks, or put what differs behind what is common")
        elif reason == "other_key":
            yield self.setting("cache_salt", "one for all who may share a prefix")
        else:
            yield self.pool("a larger pool keeps it until the next one comes")
            yield from self.fewer_sequences(
                "or fewer sequences at once, which leave more of the pool to the cache"
            )


def _digest(tokens: bytes) -> bytes:
    return blake2b(tokens, digest_size=12).digest()


def _common(first: bytes, second: bytes) -> bytes:
    """The tokens (u32) with which both begin."""
    if second.startswith(first):
        return first
    size = min(len(first), len(second)) // 4
    differs = u32(first[: 4 * size]) != u32(second[: 4 * size])
    return first[: 4 * (int(differs.argmax()) if differs.any() else size)]
