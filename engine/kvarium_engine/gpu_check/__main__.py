"""``python -m kvarium_engine.gpu_check``: the check from a plain folder. See :mod:`kvarium_engine.gpu_check`."""

import argparse
import sys
from pathlib import Path

from kvarium_engine.gpu_check.check import check
from kvarium_engine.gpu_check.part import PARTS


def main() -> int:
    """Read the arguments, and check."""
    parser = argparse.ArgumentParser(
        prog="python -m kvarium_engine.gpu_check",
        description="Is the engine right on this machine's card, and what does it reach there?",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the result there too, as a section of a document"
    )
    parser.add_argument(
        "--tiny-model",
        type=Path,
        metavar="FILE",
        help="stories260K.bin of llama2.c, with tok512.bin beside it for the text",
    )
    parser.add_argument(
        "--only",
        metavar="PARTS",
        help=f"these parts alone, with commas between: {', '.join(part.name for part in PARTS)}",
    )
    asked = parser.parse_args()
    return check(asked.json, asked.markdown, asked.tiny_model, asked.only)


if __name__ == "__main__":
    sys.exit(main())
