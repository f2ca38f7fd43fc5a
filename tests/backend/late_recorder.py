"""``python -m tests.backend.late_recorder …`` is ``kvarium …`` with a recorder that keeps what came for a second."""

from functools import partial

from kvarium import cli, hub
from kvarium.recording.writer import Writer

if __name__ == "__main__":
    hub.Writer = partial(Writer, batch_seconds=1.0)  # type: ignore[assignment,attr-defined]
    cli.main()
