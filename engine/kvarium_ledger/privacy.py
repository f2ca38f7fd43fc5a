"""What leaves the engine where text is not recorded: neither text, nor what tells it to someone who guesses well.

A block's hash is a chain whose seed is public, so that a guessed prompt could be confirmed by it. It is told under a key
that nobody has outside the engine's process:

    true hash ──> HMAC-SHA256(secret of the session) ──> contents.hash, admitted.missed

Equal contents of one session still have equal hashes there; those of two sessions can't be compared.
"""

import hmac
import secrets
from collections.abc import Mapping, Sequence

import msgspec

from kvarium_ledger.decisions import Admitted, AnyDecision, Finished, Hypothesis, SequenceDropped, Submitted
from kvarium_ledger.messages import Scalar
from kvarium_ledger.records import Contents

TOLD_TEXTS = ("request", "name", "lora_name")
"""Arguments of a command that are names: of a request, which are the user's own, and of adapters."""

REFUSED = "refused; the reason may quote text, which is not recorded"


class Privacy:
    """Takes text out of what is recorded, and re-keys hashes with a secret (32 bytes) that never leaves this object."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def rekeyed(self, value: bytes) -> bytes:
        """The hash (32 bytes) that is told for the true hash ``value``."""
        return hmac.digest(self._secret, value, "sha256")

    def contents(self, contents: Contents) -> Contents:
        """``contents`` with its hashes re-keyed."""
        size = contents.hash_size
        if not size:
            return contents
        hashes = [contents.hash[start : start + size] for start in range(0, len(contents.hash), size)]
        told = b"".join(self.rekeyed(each) for each in hashes)
        return msgspec.structs.replace(contents, hash=told, hash_size=len(told) // len(hashes))

    def decisions(self, decisions: Sequence[AnyDecision]) -> list[AnyDecision]:
        """The decisions without the stops that were met, the last tokens of answers, cache salts and true hashes."""
        return [self._decision(decision) for decision in decisions]

    def _decision(self, decision: AnyDecision) -> AnyDecision:
        if isinstance(decision, Admitted) and decision.missed is not None:
            return msgspec.structs.replace(decision, missed=self.rekeyed(decision.missed))
        if isinstance(decision, Finished | SequenceDropped) and decision.stop_reason is not None:
            return msgspec.structs.replace(decision, stop_reason=None)
        if isinstance(decision, Hypothesis):
            return msgspec.structs.replace(decision, token=None)
        if isinstance(decision, Submitted) and decision.cache_salt is not None:
            return msgspec.structs.replace(decision, cache_salt=None)
        return decision

    @staticmethod
    def arguments(args: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """A command's arguments with every text but a name told by its length, whatever the argument is called."""
        told: dict[str, Scalar] = {}
        for name, value in args.items():
            if isinstance(value, str) and name not in TOLD_TEXTS:
                told[f"{name}_length"] = len(value)
            else:
                told[name] = value
        return told

    @staticmethod
    def error(error: str | None) -> str | None:
        """That a command was refused, without the reason."""
        return None if error is None else REFUSED
