"""What goes wrong in a way that a person can do something about."""

_FULL = ("database or disk is full", "No space left on device")
"""How SQLite, and the system, say so."""


class KvariumError(Exception):
    """One line for the user: what was wrong, the value, and what to do. The command ends with ``exit_code``."""

    exit_code = 1


class UnknownSessionError(KvariumError):
    """No session, or more than one, goes by that name."""


class NotARecordingError(KvariumError):
    """A file or database that kvarium did not write."""


class OutOfRangeError(KvariumError):
    """A step or record that the recording does not hold."""


class DamagedRecordingError(KvariumError):
    """Stored bytes that are not what was written: a checksum differs, or records are missing between two."""


class InvalidValueError(KvariumError):
    """A value that is none of those that can be given there."""


class UnwritableError(KvariumError):
    """The system does not let a file be written. ``reason`` is why, without a path: who asked for it knows another."""

    def __init__(self, what: str, reason: str) -> None:
        self.reason = "the disk is full" if any(words in reason for words in _FULL) else reason
        super().__init__(f"{what}: {self.reason}")

    @property
    def full(self) -> bool:
        """Is it for want of room?"""
        return "full" in self.reason or "quota" in self.reason


class WrongUsageError(KvariumError):
    """Options that do not go together, or one that does nothing without another: the message names them."""

    exit_code = 2


class ConflictError(KvariumError):
    """What is asked for can't be done as things stand: the session is live, or the recording is read-only."""
