"""The hello of an engine that a test makes by hand."""

import uuid

from kvarium_ledger.messages import Hello
from kvarium_ledger.records import VERSION


def greeting(num_blocks: object, block_size: object, **changes: object) -> Hello:
    """A hello of a new session of the null runner; ``changes``: fields that are otherwise."""
    values: dict[str, object] = {
        "version": VERSION,
        "session": str(uuid.uuid4()),
        "utc_us": 1_764_000_000_000_000,
        "num_blocks": num_blocks,
        "block_size": block_size,
        "engine": "hand",
        "model": "none",
        "runner": "null",
        "device": "none",
    }
    return Hello(**(values | changes))  # type: ignore[arg-type]
