"""How the routes refuse: each answer from 400 on is ``{"detail": …}``, a sentence with the value and what it may be.

    ?stpe=5        a name that the route does not take, or one that is given twice    before anything else is looked at
    ?step=x        a value that is none                                               what FastAPI finds, in our words
    POST, /no      a method or an address that there is not
    a fault        of kvarium's own

What a route takes is read from its own declaration, as its page of OpenAPI tells it: nothing is listed a second time.
"""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.requests import HTTPConnection
from fastapi.responses import Response
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.routing import compile_path

from kvarium.api.context import JSON
from kvarium.terminal import shown

_MOST_TOLD: Final = 5
"""Faults of one request that are told."""

Schema = Mapping[str, Any]


def known_parameters(connection: HTTPConnection) -> None:
    """A dependency of all routes: 422 where the address holds a name that the route does not take, or one of its names twice."""
    given = connection.query_params.multi_items()
    if not given or connection.scope["type"] != "http":
        return
    path = connection.url.path
    taken = _parameters(connection, "query")
    seen: set[str] = set()
    for name, _ in given:
        if name not in taken:
            takes = ", ".join(taken) or "no parameters"
            raise HTTPException(422, f"there is no parameter '{shown(name, 100)}' here: {path} takes {takes}")
        if name in seen and _resolved(connection.app, taken[name]).get("type") != "array":
            raise HTTPException(422, f"{name} is given more than once: give it once")
        seen.add(name)


def tell_in_sentences(app: FastAPI) -> None:
    """Let the application tell what it refuses as the routes do."""
    app.add_exception_handler(RequestValidationError, _wrong_values)
    app.add_exception_handler(AnyHTTPException, _refused)
    app.add_exception_handler(Exception, _own_fault)


async def _wrong_values(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    told = [_sentence(request, each) for each in error.errors()[:_MOST_TOLD]]
    return JSON({"detail": "; ".join(told)}, status_code=422)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    status, detail = error.status_code, error.detail
    if status == 405:
        path, takes = request.url.path, _methods(request)
        if takes:
            detail = f"{path} takes {' and '.join(takes)}, not {shown(request.method)}"
        else:
            status, detail = 404, f"there is no {shown(path, 200)}"
    return JSON({"detail": detail}, status_code=status, headers=error.headers)


async def _own_fault(request: Request, error: Exception) -> Response:
    line = " ".join(str(error).split()) or "no more is known"
    told = f"a fault of kvarium's own ({type(error).__name__}: {shown(line, 200)}); the server's terminal shows where"
    return JSON({"detail": told}, status_code=500)


# -- what a route takes -------------------------------------------------------------------------------------------------


def _operation(connection: HTTPConnection) -> Schema:
    """The route as OpenAPI tells it; nothing of a route that it does not tell."""
    path = getattr(connection.scope.get("route"), "path", "")
    told: Schema = connection.app.openapi()["paths"].get(path, {})
    found: Schema = told.get(connection.scope["method"].lower(), {})
    return found


def _parameters(connection: HTTPConnection, place: str) -> dict[str, Schema]:
    """The route's parameters in its ``query`` or ``path``, by name."""
    return {
        each["name"]: each["schema"]
        for each in _operation(connection).get("parameters", ())
        if each["in"] == place
    }


def _methods(request: Request) -> list[str]:
    """What can be done at the address of a request."""
    paths = request.app.openapi()["paths"]
    return [
        method.upper()
        for path, methods in paths.items()
        if compile_path(path)[0].match(request.url.path)
        for method in methods
    ]


def _resolved(app: FastAPI, schema: Schema) -> Schema:
    """A schema without the way around by which it is told: an alternative to null, a name."""
    for each in schema.get("anyOf", ()):
        if each.get("type") != "null":
            return _resolved(app, each)
    if "$ref" in schema:
        found: Schema = app.openapi()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return found
    return schema


# -- what is wrong with a value -----------------------------------------------------------------------------------------


def _sentence(request: Request, error: Mapping[str, Any]) -> str:
    place, *names = error["loc"]
    name = str(names[0]) if names else str(place)
    schema = _parameters(request, str(place)).get(name, {})
    whole = _resolved(request.app, schema)
    one = len(names) < 2
    if error["type"] == "missing":
        return f"{name} is missing: give {_takes(request.app, whole)}"
    if error["type"] == "too_long":
        return f"{name} is given {len(error['input'])} times: give at most {whole['maxItems']}"
    takes = _takes(request.app, whole if one else whole.get("items", {}))
    return f"{name} must be {takes}, not '{shown(str(error['input']), 100)}'"


def _takes(app: FastAPI, schema: Schema) -> str:
    """What a value may be."""
    schema = _resolved(app, schema)
    kind = schema.get("type")
    if "enum" in schema:
        *others, last = map(str, schema["enum"])
        return f"{', '.join(others)} or {last}" if others else last
    if kind in ("integer", "number"):
        return ("a whole number" if kind == "integer" else "a number") + _range(schema)
    if kind == "boolean":
        return "true or false"
    if kind == "array":
        return f"{_takes(app, schema['items'])}, once or more"
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    return "text" if most is None else f"text of {least} to {most} characters"


def _range(schema: Schema) -> str:
    least = schema.get("minimum")
    most = schema.get("maximum")
    if most is None and "exclusiveMaximum" in schema:
        most = schema["exclusiveMaximum"] - 1
    if least is None and most is None:
        return ""
    return f" from {least} on" if most is None else f" from {least or 0} to {most}"
