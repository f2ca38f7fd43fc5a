"""``python -m kvarium_ledger.schema --out DIR`` writes the format for other languages.

``schema.json`` (JSON Schema of every record and message) and ``constants.ts`` (codes, columns, digest constants): the
TypeScript side is generated from these, so that both sides can't drift apart.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import msgspec

from kvarium_ledger import digest
from kvarium_ledger.decisions import STATE_CODES
from kvarium_ledger.messages import AnyMessage
from kvarium_ledger.operations import CARRIED_BY, COLUMNS, NONE, Cause, Operation, Pin
from kvarium_ledger.records import VERSION, AnyRecord

_TYPES = {"|u1": "u8", "<u4": "u32", "<f8": "f64"}


def schema() -> dict[str, Any]:
    """The JSON Schema of any frame's map: a record or a message."""
    (root,), definitions = msgspec.json.schema_components(
        [AnyRecord | AnyMessage], ref_template="#/$defs/{name}"
    )
    return {"title": "Frame", **root, "$defs": definitions}


def constants() -> str:
    """A TypeScript module of the numbers that both sides must agree on."""

    def table(name: str, values: dict[str, Any]) -> str:
        body = "".join(f"  {key}: {json.dumps(value)},\n" for key, value in values.items())
        return f"export const {name} = {{\n{body}}} as const;\n"

    def codes(enum: Any) -> dict[str, int]:
        return {member.name: member.value for member in enum}

    parts = [
        "// Generated from the Python package kvarium_ledger by `make types`. Do not edit.\n",
        f"export const VERSION = {VERSION};\n",
        f"export const NONE = {NONE};\n",
        table("Operation", codes(Operation)),
        table("Cause", codes(Cause)),
        table("Pin", codes(Pin)),
        table("STATE_CODES", STATE_CODES),
        table("COLUMN_TYPES", {name: _TYPES[dtype.str] for name, dtype in COLUMNS.items()}),
        table(
            "CARRIED_BY", {name: sorted(int(kind) for kind in kinds) for name, kinds in CARRIED_BY.items()}
        ),
        f"export const MULTIPLIERS = {json.dumps(digest.MULTIPLIERS)} as const;\n",
        table("SALTS", digest.SALTS),
    ]
    return "\n".join(parts)


def main() -> None:
    """Write both files into ``--out``."""
    parser = argparse.ArgumentParser(
        description="Write the ledger's schema and constants for other languages."
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder for schema.json and constants.ts")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    (out / "schema.json").write_text(json.dumps(schema(), indent=2) + "\n")
    (out / "constants.ts").write_text(constants())


if __name__ == "__main__":
    main()
