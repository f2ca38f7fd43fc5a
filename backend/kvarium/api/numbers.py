"""Whole numbers in addresses, as every route reads them: a recording's, below 2^53, and the narrower ones of its requests and blocks.

10   -1        digits of ASCII, with a minus where the route takes one
1_0  1.0  ١    none, though Python and pydantic make 10, 1 and 1 of them
"""

import re
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BeforeValidator, Field

_DIGITS = re.compile("-?[0-9]+")


def _in_digits(given: Any) -> Any:
    """What is given, if it is such a number. Raises :class:`ValueError`."""
    if isinstance(given, str) and _DIGITS.fullmatch(given) is None:
        raise ValueError("a whole number is written in digits")
    return given


IN_DIGITS = BeforeValidator(_in_digits)
"""Of every whole number, behind its bounds: ``Annotated[int, Query(ge=1, le=100), IN_DIGITS]``. (Before them it would hide them
from OpenAPI, which tells what a route takes.)"""

Number = Annotated[int, Query(ge=0, lt=1 << 53), IN_DIGITS]
"""The numbers of a recording: below 2^53, as its format says."""

ListedNumber = Annotated[int, Field(ge=0, lt=1 << 53), IN_DIGITS]
U32 = Annotated[int, Query(ge=0, lt=1 << 32), IN_DIGITS]
PathNumber = Annotated[int, Path(ge=0, lt=1 << 53), IN_DIGITS]
PathU32 = Annotated[int, Path(ge=0, lt=1 << 32), IN_DIGITS]
