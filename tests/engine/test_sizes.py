"""Sizes as people write and read them, on the engine's command line and on the server's."""

from collections.abc import Callable

import pytest
import typer

from kvarium.limits import parse_size as parse_size_of_server
from kvarium_engine.sizes import parse_size, size

GIB = 1 << 30
BOTH = pytest.mark.parametrize("parse", [parse_size, parse_size_of_server], ids=["engine", "server"])


@BOTH
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("700", 700),
        ("1K", 1024),
        ("1.5k", 1536),
        ("2 MiB", 2 << 20),
        ("512MiB", GIB // 2),
        ("4G", 4 * GIB),
        (" 4GiB ", 4 * GIB),
        ("1TB", 1 << 40),
        ("0.1K", 102),
        ("9007199254740993", (1 << 53) + 1),
        ("1.000000000000000001T", 1 << 40),
    ],
)
def test_a_size_is_read_as_people_write_it(parse: Callable[[str], int], text: str, count: int) -> None:
    assert parse(text) == count


@BOTH
@pytest.mark.parametrize(
    "text", ["", "G", "-1", "1e9", "10X", "1.2.3", ".5G", "4 G iB", "٣", "inf", "9" * 400]
)
def test_what_is_no_size_is_refused_with_examples(parse: Callable[[str], int], text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no size, as "):
        parse(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (46080, "46,080 bytes (45 KiB)"),
        (2 << 20, "2,097,152 bytes (2 MiB)"),
        (GIB, "1 GiB"),
        (3 << 50, "3,072 TiB"),
    ],
)
def test_sizes_read_well(count: int, text: str) -> None:
    assert size(count) == text
