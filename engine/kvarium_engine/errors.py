"""What ends an engine with one line on standard error, each with its exit status."""


class UsageError(Exception):
    """A wrong option, file or size. Its text says what, where and with which value."""


class NotRecordedError(Exception):
    """The run ended, and nothing of it reached a backend: status 1."""


class LinkFailedError(Exception):
    """The link died of a fault of its own: the run is recorded up to there at most. Status 70, as for any fault."""
