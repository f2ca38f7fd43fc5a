"""Columns of text, for tables of figures."""

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """A line a row: columns as wide as their widest cell, the first ``left`` of them flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
