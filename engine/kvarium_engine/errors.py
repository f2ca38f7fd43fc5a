"""What a person did wrong, said in one line: the process prints it and ends with status 2."""


class UsageError(Exception):
    """A wrong option, file or size. Its text says what, where and with which value."""
