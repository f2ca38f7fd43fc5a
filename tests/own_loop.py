"""Coroutines in tests: on a thread of their own, since Playwright leaves its event loop running on the one that tests run on."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_alone(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """What it returns, or raises."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
