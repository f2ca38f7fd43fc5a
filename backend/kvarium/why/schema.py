"""``python -m kvarium.why.schema`` prints the JSON Schema of the answers, of which the page's types are made.

An answer is told whole: each of its fields is there, also where it is null, so all are required.
"""

import json
from typing import Any, get_args

import msgspec

from kvarium.why.answers import Answer


def schema() -> dict[str, Any]:
    """The JSON Schema of any answer."""
    roots, definitions = msgspec.json.schema_components(get_args(Answer), ref_template="#/$defs/{name}")
    for each in definitions.values():
        each["required"] = list(each["properties"])
    return {"title": "Answer", "anyOf": list(roots), "$defs": definitions}


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
