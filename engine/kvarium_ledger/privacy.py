"""What is told where text is not recorded: neither text, nor what tells it to someone who guesses well.

    record_text   full                     hash                      none
    text record   tokens, texts, pieces    prompts by their hashes   none (empty ones where an export took text away)
    hashes        none: the chain of the   HMAC-SHA256 with a random secret that nobody keeps, of contents and
                  tokens gives them        ``admitted.missed``

A block's hash is a chain whose seed is public, so that a guessed prompt could be confirmed by it; under the secret equal contents
of one session still have equal hashes, and those of two sessions can't be compared. Whatever else is text is left out: cache salts,
stops that were met, last tokens of answers, log probabilities, the arguments of commands, the reasons of errors. Names of requests
and of adapters stay, as does who asked: they are their users' own.

The engine's encoder applies it before bytes are made, an export (``kvarium export --strip-text``) to a recording.
"""

import hmac
import secrets
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from kvarium_ledger.decisions import Admitted, AnyDecision, Finished, Hypothesis, SequenceDropped, Submitted
from kvarium_ledger.messages import Hello, Scalar
from kvarium_ledger.records import Contents, Control, Keyframe, Note, Prompt, Step, Text

RECORD_TEXT: Final = ("none", "hash", "full")
"""How much of text is recorded, the least first."""

COMMANDS: Final = frozenset(
    {
        "submit",
        "abort",
        "reset_prefix_cache",
        "read_block",
        "hold",
        "release",
        "step",
        "run_to",
        "slow",
        "break",
        "unbreak",
        "enable",
        "disable",
        "keyframe",
    }
)
"""The commands that there are; what else somebody asked for is a text."""

_NAMES = frozenset({"request", "name", "lora_name"})
_NUMBERS = frozenset(
    {
        "prompt_tokens",
        "chat",
        "prefix_tokens",
        "max_tokens",
        "n",
        "temperature",
        "top_k",
        "top_p",
        "min_p",
        "seed",
        "ignore_eos",
        "min_tokens",
        "repetition_penalty",
        "presence_penalty",
        "frequency_penalty",
        "logprobs",
        "beam_width",
        "length_penalty",
        "early_stopping",
        "priority",
        "steps",
        "block",
        "generation",
        "slot",
        "step",
        "rate",
        "breakpoint",
        "hits",
        "mark",
    }
)
TEXTS: Final = frozenset(
    {
        "prompt",
        "system",
        "stop",
        "cache_salt",
        "stop_token_ids",
        "logit_bias",
        "follow",
        "prefix_seed",
        "when",
    }
)
"""Arguments of commands that are text, or tell tokens: at most their lengths are told."""

TOLD: Final = _NAMES | _NUMBERS
"""Arguments of commands that are told: names with any value, numbers and choices with one that is no text."""

_LENGTHS = frozenset(f"{name}_length" for name in TEXTS | _NUMBERS)

WITHHELD: Final = "the reason may quote text, which is not recorded"
UNKNOWN: Final = "unknown"
"""Stands for the name of a command that there is not."""


def greeting(hello: Hello, record_text: str) -> Hello:
    """``hello`` for a session whose text is recorded as ``record_text`` says.

    The seed of the hash chain is told with ``full`` only. Raises :class:`ValueError` for a ``record_text`` that is none.
    """
    if record_text not in RECORD_TEXT:
        raise ValueError(f"record_text is 'none', 'hash' or 'full', not {record_text!r}")
    config = {
        name: value
        for name, value in hello.config.items()
        if record_text == "full" or name != "prefix_caching_hash_seed"
    }
    return msgspec.structs.replace(hello, record_text=record_text, config=config)


class Privacy:
    """Takes text out of what is recorded, as ``record_text`` (``none`` or ``hash``) says.

    Hashes are re-keyed with a secret of 32 random bytes that never leaves this object.
    """

    def __init__(self, record_text: str) -> None:
        if record_text not in ("none", "hash"):
            raise ValueError(f"record_text is 'none' or 'hash' where text is left out, not {record_text!r}")
        self.record_text = record_text
        self._secret = secrets.token_bytes(32)

    def rekeyed(self, value: bytes) -> bytes:
        """The hash (32 bytes) that is told for the hash ``value``."""
        return hmac.digest(self._secret, value, "sha256")

    # -- records ------------------------------------------------------------------------------------------------------

    def step(self, step: Step, hashes: Sequence[bytes] | None = None) -> Step:
        """``step`` without what is text; ``hashes`` as for :meth:`contents`. There is no text in the state, so its digest holds."""
        return msgspec.structs.replace(
            step, decisions=self.decisions(step.decisions), contents=self.contents(step.contents, hashes)
        )

    def keyframe(self, keyframe: Keyframe, hashes: Sequence[bytes] | None = None) -> Keyframe:
        """``keyframe`` with the hashes of its contents re-keyed; ``hashes`` as for :meth:`contents`."""
        return msgspec.structs.replace(keyframe, contents=self.contents(keyframe.contents, hashes))

    def text(self, text: Text) -> Text:
        """An empty record in the place of ``text``; with ``hash`` it holds the hashes of its prompts."""
        prompts = self.prompts(text.prompts) if self.record_text == "hash" else []
        return Text(record=text.record, step=text.step, prompts=prompts)

    def control(self, control: Control) -> Control:
        """``control`` without the texts in what was asked, and in why it was refused."""
        is_known = control.name in COMMANDS
        return msgspec.structs.replace(
            control,
            name=control.name if is_known else UNKNOWN,
            args=_arguments(control.args) if is_known else {},
            error=None if control.error is None else f"refused: {WITHHELD}",
        )

    @staticmethod
    def note(note: Note) -> Note:
        """``note`` without its words."""
        return msgspec.structs.replace(note, text="", by="")

    # -- their parts --------------------------------------------------------------------------------------------------

    def contents(self, contents: Contents, hashes: Sequence[bytes] | None = None) -> Contents:
        """``contents`` with its hashes re-keyed (32 bytes each); they are ``hashes`` (one a content), or None: those it tells."""
        true = contents.hashes if hashes is None else hashes
        if not true:
            return contents
        told = [self.rekeyed(each) for each in true]
        return msgspec.structs.replace(contents, hash=b"".join(told), hash_size=len(told[0]))

    def prompts(self, prompts: Sequence[Prompt]) -> list[Prompt]:
        """The prompts by their hashes: equal ones are those of equal tokens."""
        return [
            Prompt(request=each.request, hash=self.rekeyed(b"prompt" + (each.tokens or each.hash)))
            for each in prompts
            if each.tokens or each.hash
        ]

    def decisions(self, decisions: Sequence[AnyDecision]) -> list[AnyDecision]:
        """The decisions without the stops that were met, last tokens of answers, cache salts, errors and true hashes."""
        return [self._decision(decision) for decision in decisions]

    def _decision(self, decision: AnyDecision) -> AnyDecision:
        if isinstance(decision, Admitted) and decision.missed is not None:
            return msgspec.structs.replace(decision, missed=self.rekeyed(decision.missed))
        if isinstance(decision, Finished) and decision.reason == "error":
            return msgspec.structs.replace(decision, message=WITHHELD, stop_reason=None)
        if isinstance(decision, Finished | SequenceDropped) and decision.stop_reason is not None:
            return msgspec.structs.replace(decision, stop_reason=None)
        if isinstance(decision, Hypothesis):
            return msgspec.structs.replace(decision, token=None)
        if isinstance(decision, Submitted) and decision.cache_salt is not None:
            return msgspec.structs.replace(decision, cache_salt=None)
        return decision


def _arguments(args: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """A command's arguments: names and numbers as they are, texts by their lengths, unknown ones not at all."""
    told: dict[str, Scalar] = {}
    for name, value in args.items():
        is_number = name in _NUMBERS | _LENGTHS and not isinstance(value, str)
        if name in _NAMES or is_number:
            told[name] = value
        elif name in TEXTS | _NUMBERS and isinstance(value, str):
            told[f"{name}_length"] = len(value)
    return told
