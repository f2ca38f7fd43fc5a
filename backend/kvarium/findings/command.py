"""``kvarium findings SESSION``: what is wrong in a recording, with the events that prove it."""

import contextlib

import typer

from kvarium.recording_options import AsJson, Db, SessionOrFile, reading_session, say


def add(app: typer.Typer) -> None:
    """Give the command line this command."""
    app.command(name="findings")(findings)


def findings(session: SessionOrFile = "latest", db: Db = None, as_json: AsJson = False) -> None:
    """Say what is wrong in a recording: each finding with what proves it, its thresholds, and what to change.

    Thrashing, contents evicted and then wanted, prefixes that never hit, tail waste, head-of-line blocking, oversized
    reservations, unreachable branches, out of memory, slow prompts. docs/findings.md says what each exactly is.
    """
    import msgspec

    from kvarium.findings.sweep import find
    from kvarium.findings.telling import lines
    from kvarium.recording.seek import Seeker
    from kvarium.terminal import progress_bar
    from kvarium.why.past import Past

    with (
        reading_session(session, db) as (reader, number),
        contextlib.closing(Seeker(reader)) as seeker,
        progress_bar("looking") as progress,
    ):
        found = find(Past(reader, seeker, number), progress)
    say(msgspec.json.encode(found).decode() if as_json else "\n".join(lines(found)))
