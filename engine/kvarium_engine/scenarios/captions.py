"""The words of the scenarios, in every language that they have: ``captions.json``, which the page reads as well.

    {"lazy-allocation": {"title": {"en": …, "vi": …}, "told": {…}, "captions": [{"en": …, "vi": …}, …]}}

A caption may have ``{names}`` in it, which what happened gives their values. In a recording a caption is a note of the
engine's, in English and with the scenario and its number before it; whoever shows it finds both by that, and so the same
caption in another language, on any machine.
"""

import json
from functools import cache
from importlib import resources

LANGUAGES = ("en", "vi")
"""The first one is that of recordings."""

Words = dict[str, str]
"""A text by language."""


@cache
def _told() -> dict[str, dict[str, Words | list[Words]]]:
    file = resources.files("kvarium_engine.scenarios").joinpath("captions.json")
    found: dict[str, dict[str, Words | list[Words]]] = json.loads(file.read_text("utf-8"))
    return found


def title(scenario: str, language: str = LANGUAGES[0]) -> str:
    """What it is called."""
    words = _told()[scenario]["title"]
    assert isinstance(words, dict), f"the title of {scenario} is one text a language"
    return words[language]


def told(scenario: str, language: str = LANGUAGES[0]) -> str:
    """What it shows, in a sentence or two."""
    words = _told()[scenario]["told"]
    assert isinstance(words, dict), f"what is told of {scenario} is one text a language"
    return words[language]


def captions(scenario: str) -> list[Words]:
    """Its captions, in their order."""
    words = _told()[scenario]["captions"]
    assert isinstance(words, list), f"{scenario} has a list of captions"
    return words


def note(scenario: str, number: int, values: dict[str, str]) -> str:
    """The note that the ``number``-th caption (from 1) of a scenario is in a recording."""
    every = captions(scenario)
    text = every[number - 1][LANGUAGES[0]].format_map(values)
    return f"{scenario} {number}/{len(every)}: {text}"
