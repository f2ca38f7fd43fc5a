"""Whatever the API refuses, it says so in one sentence, with the value and what it may be: on every route."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from kvarium.app import Application
from kvarium.recording.database import open_for_reading
from tests.backend.hand_engine import HandEngine
from tests.backend.running_server import RunningServer, running

NUMBER = "a whole number from 0 to 9007199254740991"
NO_SESSION = "5e550000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def viewing(recorded: tuple[Path, str]) -> Iterator[tuple[RunningServer, str]]:
    with running(recorded[0], read_only=True) as server:
        yield server, recorded[1]


def sentence(answer: httpx2.Response) -> str:
    """What a refusal says; its shape is checked."""
    assert answer.status_code >= 400
    told = answer.json()
    assert "detail" in told
    assert isinstance(told["detail"], str)
    for jargon in ("Input should", "Field required", "Expected `", "pydantic"):
        assert jargon not in told["detail"]
    return str(told["detail"])


def routes(server: RunningServer) -> list[tuple[str, str, dict[str, Any]]]:
    """All that can be asked: method, path, and what OpenAPI tells of it."""
    told = server.get("/openapi.json")["paths"]
    return [(method, path, each) for path, methods in told.items() for method, each in methods.items()]


def test_every_route_refuses_a_name_that_it_does_not_take(viewing: tuple[RunningServer, str]) -> None:
    server, session = viewing
    found = routes(server)
    assert len(found) > 30
    for method, path, told in found:
        place = path.replace("{session}", session)
        for name in ("{block}", "{sequence}", "{request}", "{note}"):
            place = place.replace(name, "0")
        takes = [each["name"] for each in told.get("parameters", ()) if each["in"] == "query"]
        said = sentence(server.http.request(method.upper(), f"{place}?bogus=1"))
        assert said == (
            f"there is no parameter 'bogus' here: {place} takes {', '.join(takes) or 'no parameters'}"
        )


def test_a_name_that_is_given_twice_is_refused_unless_it_is_a_list(
    viewing: tuple[RunningServer, str],
) -> None:
    server, session = viewing
    place = f"/api/sessions/{session}"
    twice = server.http.get(f"{place}/seek?step=1&step=2")
    assert (twice.status_code, sentence(twice)) == (422, "step is given more than once: give it once")
    assert server.http.get(f"{place}/landmarks?kind=evict&kind=copy").status_code == 200
    assert server.http.get(f"{place}/contents?content=1&content=2").status_code == 200


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("seek?step=x", f"step must be {NUMBER}, not 'x'"),
        ("seek?step=-1", f"step must be {NUMBER}, not '-1'"),
        ("seek?step=1.5", f"step must be {NUMBER}, not '1.5'"),
        ("seek?step=1_0", f"step must be {NUMBER}, not '1_0'"),
        ("seek?step=1.0", f"step must be {NUMBER}, not '1.0'"),
        ("seek?step=%D9%A1", f"step must be {NUMBER}, not '١'"),
        ("seek?step=+1", f"step must be {NUMBER}, not ' 1'"),
        ("why/memory?step=1_0", f"step must be {NUMBER}, not '1_0'"),
        ("why/evicted?block=1_0", "block must be a whole number from 0 to 4294967295, not '1_0'"),
        ("contents?content=1&content=1_0", f"content must be {NUMBER}, not '1_0'"),
        ("blocks/1_0/operations?before=1", "block must be a whole number from 0 to 4294967295, not '1_0'"),
        ("export?format=html&steps=%D9%A1..%D9%A3", "steps='١..٣' is no part"),
        ("seek?step=%ff", f"step must be {NUMBER}, not '�'"),
        ("seek?step=%00", f"step must be {NUMBER}, not '\\x00'"),
        ("seek?step=1&contents=some", "contents must be all or none, not 'some'"),
        ("seek?step=1&ahead_bytes=1e9", "ahead_bytes must be a whole number from 0 to 67108864, not '1e9'"),
        ("frames", "after is missing: give a whole number from -1 to 9007199254740991"),
        (
            "frames?after=x&limit_bytes=y",
            "after must be a whole number from -1 to 9007199254740991, not 'x'; ",
        ),
        (
            "landmarks?kind=evict&kind=boom",
            "kind must be evict, copy, preempted, refused, violation, gap or note, not 'boom'",
        ),
        ("contents?content=1&content=no", f"content must be {NUMBER}, not 'no'"),
        ("contents?" + "&".join(["content=1"] * 1001), "content is given 1001 times: give at most 1000"),
        ("events?direction=up", "direction must be later or earlier, not 'up'"),
        ("events?filter=" + "a" * 2001, "filter must be text of 0 to 2000 characters, not 'aaa"),
        ("export?format=pdf", "format must be kvarium, parquet, jsonl, perfetto or html, not 'pdf'"),
        ("export", "format is missing: give kvarium, parquet, jsonl, perfetto or html"),
        ("download?strip_notes=perhaps", "strip_notes must be true or false, not 'perhaps'"),
        ("blocks/-1/operations?before=1", "block must be a whole number from 0 to 4294967295, not '-1'"),
        ("why/waits?of=", "of must be text of 1 to 1000 characters, not ''"),
        ("sequences/x/tokens", "sequence must be a whole number from 0 to 4294967295, not 'x'"),
    ],
)
def test_a_value_that_is_none_is_told_with_what_it_may_be(
    viewing: tuple[RunningServer, str], path: str, said: str
) -> None:
    server, session = viewing
    answer = server.http.get(f"/api/sessions/{session}/{path}")
    assert (answer.status_code, sentence(answer)[: len(said)]) == (422, said)


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", "/api/nothing", 404, "there is no /api/nothing"),
        ("POST", "/api/nothing", 404, "there is no /api/nothing"),
        ("PUT", "/api/sessions/x", 405, "/api/sessions/x takes GET and PATCH and DELETE, not PUT"),
        ("POST", "/api/sessions", 405, "/api/sessions takes GET, not POST"),
        ("GET", "/nothing.js", 404, "there is no file nothing.js"),
        ("GET", f"/api/sessions/{NO_SESSION}", 404, f"no session '{NO_SESSION}'"),
    ],
)
def test_an_address_or_method_that_there_is_not_is_told(
    viewing: tuple[RunningServer, str], method: str, path: str, status: int, said: str
) -> None:
    answer = viewing[0].http.request(method, path)
    assert (answer.status_code, sentence(answer)) == (status, said)


def test_a_fault_of_kvariums_own_is_told_in_the_same_shape(
    recorded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("a broken\npart")

    with running(recorded[0], read_only=True) as server:
        monkeypatch.setattr(server.hub, "sessions", broken)
        answer = server.http.get("/api/sessions")
    assert answer.status_code == 500
    assert sentence(answer) == (
        "a fault of kvarium's own (RuntimeError: a broken part); the server's terminal shows where"
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the body is empty, where JSON was expected"),
        (b"{", "the body ends in the middle of its JSON"),
        (b"[" * 100_000, "the body is nested too deep"),
        (b'{"text": "\xff"}', "the body is no text: JSON is sent as UTF-8"),
        (b"{'text': 1}", "the body is no JSON: "),
        (b"[]", "a note is an object of text, step, record, op, mark, colour, not []"),
        (b"5", "a note is an object of text, step, record, op, mark, colour, not 5"),
        (b'{"text": "x", "stpe": 1}', "a note takes no stpe, but text, step, record, op, mark, colour"),
        (b'{"text": 7}', "text must be text, not 7"),
        (b'{"text": "x", "step": 1.5}', "step must be a whole number, not 1.5"),
        (b'{"text": "x", "step": 1e400}', "step is 1e400: the number is too large"),
        (
            b'{"text": "\\ud800"}',
            "the body has \\ud800 alone, which is half of a character: give both halves, or leave it out",
        ),
        (b'{"text": "\\\\ \\ud83d\\ude00 \\udc00"}', "the body has \\udc00 alone"),
        (b'{"text": "' + b"x" * (1 << 20) + b'"}', "the body has more than 1048576 bytes"),
    ],
)
def test_a_body_that_is_none_is_told_with_what_it_may_be(
    server: RunningServer, engine: HandEngine, body: bytes, said: str
) -> None:
    answer = server.http.post(f"/api/sessions/{engine.hello.session}/notes", content=body)
    assert answer.status_code == (413 if "more than" in said else 422)
    assert sentence(answer)[: len(said)] == said


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("sql", b'{"sql": ""}', "sql must have at least 1 character: it has 0"),
        (
            "sql",
            b'{"sql": "SELECT 1", "sql": "SELECT 2"}',
            "sql is given more than once in a query: give it once",
        ),
        (
            "commands",
            b'{"name": "submit", "args": {"prompt": "x", "n": 1, "n": 2}}',
            "n is given more than once in a command: give it once",
        ),
        ("sql", b'{"sql": "SELECT 1", "rows": 5}', "a query takes no rows, but sql, limit"),
        ("sql", b'{"sql": "SELECT 1", "limit": 0}', "limit must be at least 1, not 0"),
        ("commands", b'{"name": "submit", "args": {"prompt": "\\ud800"}}', "the body has \\ud800 alone"),
        (
            "commands",
            b'{"name": "submit", "args": {"prompt": "x", "seed": 9223372036854775808}}',
            "seed must be at most 2147483648, not 9223372036854775808",
        ),
        ("commands", b'{"name": "submit", "args": []}', "args must be an object"),
        ("commands", b'{"name": "hold", "when": 1}', "a command takes no when, but name, args"),
    ],
)
def test_queries_and_commands_tell_in_the_same_way(
    server: RunningServer, engine: HandEngine, path: str, body: bytes, said: str
) -> None:
    answer = server.http.post(f"/api/sessions/{engine.hello.session}/{path}", content=body)
    assert (answer.status_code, sentence(answer)[: len(said)]) == (422, said)


def test_a_viewer_with_a_name_that_is_none_is_told(server: RunningServer, engine: HandEngine) -> None:
    url = f"{server.ws}/api/sessions/{engine.hello.session}/live?afetr=5"
    with connect(url, proxy=None) as viewer, pytest.raises(ConnectionClosed) as closed:
        viewer.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (
        4400,
        "there is no parameter 'afetr' here: live takes after, text, rate",
    )


def test_what_openapi_tells_is_what_the_routes_take(recorded: tuple[Path, str]) -> None:
    """Every route but the page's is in it: what is not could not be checked."""
    database = open_for_reading(str(recorded[0]))
    told = Application(database).fastapi.openapi()["paths"]
    database.close()
    assert {path.split("/")[1] for path in told} == {"api"}


def test_every_whole_number_is_read_in_digits_alone(viewing: tuple[RunningServer, str]) -> None:
    server, session = viewing
    tried = 0
    for method, path, told in routes(server):
        for each in told.get("parameters", ()):
            schema = next(
                (one for one in each["schema"].get("anyOf", ()) if one["type"] != "null"), each["schema"]
            )
            schema = schema.get("items", schema)
            if schema.get("type") != "integer":
                continue
            name, place = each["name"], path.replace("{session}", session)
            query = {}
            if each["in"] == "path":
                place = place.replace(f"{{{name}}}", "1_0")
            else:
                query[name] = "1_0"
            for other in ("{block}", "{sequence}", "{request}", "{note}"):
                place = place.replace(other, "0")
            said = sentence(server.http.request(method.upper(), place, params=query))
            assert f"{name} must be a whole number" in said, (method, path, said)
            assert "not '1_0'" in said
            tried += 1
    assert tried > 25
