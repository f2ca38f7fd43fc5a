"""The way from a session to its engine, and what can go wrong on it."""

from typing import Protocol

from kvarium.errors import KvariumError


class LinkFaultError(KvariumError):
    """An engine sent what no engine may send."""


class EngineLink(Protocol):
    """The way back to an engine."""

    def acknowledge(self, record: int) -> None:
        """Everything up to ``record`` is committed."""

    def send(self, frame: bytes) -> None:
        """Send a command."""

    def close(self, code: int, reason: str) -> None:
        """End the connection."""


class NotLinkedError(KvariumError):
    """A command for an engine that is not there."""


class NoAnswerError(KvariumError):
    """A command that the engine did not answer in time."""


class RefusedCommandError(KvariumError):
    """A command that the engine answered with an error."""
