"""What goes wrong in a way that a person can do something about."""


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


class ConflictError(KvariumError):
    """What is asked for can't be done as things stand: the session is live, or the recording is read-only."""
