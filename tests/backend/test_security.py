"""Who may talk to the server: the same answers on HTTP and on websockets."""

from pathlib import Path

import pytest
from starlette.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from kvarium.security import SECURITY_HEADERS, Security, is_loopback
from tests.backend.hand_engine import HandEngine
from tests.backend.running_server import TOKEN, RunningServer, running


async def _never(*_: object) -> None:
    raise AssertionError("not to be called")


def refusal(bound: str, headers: dict[str, str], allowed: tuple[str, ...] = ()) -> str | None:
    return Security(_never, bound, allowed).refusal(Headers(headers))  # type: ignore[arg-type]


GOOD = [
    {"host": "127.0.0.1:8642"},
    {"host": "localhost:8642"},
    {"host": "LOCALHOST"},
    {"host": "[::1]:8642"},
    {"host": "localhost:8642", "origin": "http://localhost:8642"},
    {"host": "127.0.0.1:8642", "origin": "http://127.0.0.1:8642"},
    {"host": "127.0.0.1:8642", "origin": "https://127.0.0.1:8642"},
]
BAD = [
    {},
    {"host": ""},
    {"host": "evil.example"},
    {"host": "evil.example:8642"},
    {"host": "127.0.0.1.evil.example"},
    {"host": "localhost.evil.example:8642"},
    {"host": "192.168.1.5:8642"},
    {"host": "127.0.0.1:8642:9"},
    {"host": "127.0.0.1/x"},
    {"host": "user@127.0.0.1"},
    {"host": "127.0.0.1:8642", "origin": "http://evil.example"},
    {"host": "127.0.0.1:8642", "origin": "null"},
    {"host": "127.0.0.1:8642", "origin": ""},
    {"host": "127.0.0.1:8642", "origin": "http://127.0.0.1:9999"},
    {"host": "127.0.0.1:8642", "origin": "http://localhost:8642"},
    {"host": "127.0.0.1:8642", "origin": "file://127.0.0.1:8642"},
]


@pytest.mark.parametrize("headers", GOOD)
def test_this_machines_names_and_the_pages_own_origin_are_let_in(headers: dict[str, str]) -> None:
    assert refusal("127.0.0.1", headers) is None


@pytest.mark.parametrize("headers", BAD)
def test_other_hosts_and_origins_are_refused(headers: dict[str, str]) -> None:
    assert refusal("127.0.0.1", headers)


def test_two_hosts_are_none() -> None:
    headers = Headers(raw=[(b"host", b"127.0.0.1"), (b"host", b"evil.example")])
    assert Security(_never, "127.0.0.1").refusal(headers)  # type: ignore[arg-type]


def test_a_server_answers_to_the_names_it_was_given() -> None:
    assert refusal("box.lan", {"host": "box.lan:8642"}) is None
    assert refusal("127.0.0.1", {"host": "tank.example"}, ("tank.example",)) is None
    assert "--allowed-host tank.example" in (refusal("127.0.0.1", {"host": "tank.example"}) or "")


def test_a_server_on_every_address_answers_to_addresses_but_not_to_strange_names() -> None:
    assert refusal("0.0.0.0", {"host": "192.168.1.5:8642"}) is None
    assert refusal("0.0.0.0", {"host": "evil.example:8642"})
    assert refusal("::", {"host": "[fe80::1]:8642"}) is None


@pytest.mark.parametrize(("host", "is_it"), [("localhost", True), ("127.0.0.2", True), ("0.0.0.0", False)])
def test_loopback_is_told_from_the_rest(host: str, is_it: bool) -> None:
    assert is_loopback(host) is is_it


FOREIGN = [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("path", ["/", "/api/sessions", "/api/health"])
def test_http_is_refused_to_foreign_pages(server: RunningServer, path: str, headers: dict[str, str]) -> None:
    response = server.http.get(path, headers=headers)
    assert response.status_code == 403
    # A person reads the page's answer, a program that of the API.
    if path == "/":
        assert response.text.startswith("kvarium: the ")
    else:
        assert response.json()["detail"].startswith("the ")


@pytest.mark.parametrize("headers", FOREIGN)
def test_commands_of_foreign_pages_do_not_reach_the_engine(
    server: RunningServer, engine: HandEngine, headers: dict[str, str]
) -> None:
    path = f"/api/sessions/{engine.hello.session}/commands"
    response = server.http.post(path, json={"name": "hold"}, headers=headers)
    assert response.status_code == 403
    assert server.http.post(path, json={"name": "hold"}).status_code == 200
    assert sum(type(message).__name__ == "Command" for message in engine.messages) == 1


@pytest.mark.parametrize("path", ["/api/sessions/{session}/live", "/api/engine"])
@pytest.mark.parametrize(
    ("options", "host"),
    [({"origin": "http://evil.example"}, None), ({"origin": "null"}, None), ({}, "evil.example")],
)
def test_websockets_are_refused_to_foreign_pages(
    server: RunningServer, engine: HandEngine, path: str, options: dict[str, str], host: str | None
) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    url = f"ws://{host or '127.0.0.1'}:{server.port}{path.format(session=engine.hello.session)}"
    with pytest.raises(InvalidStatus) as refused:
        connect(
            url,
            address=("127.0.0.1", server.port),
            additional_headers=headers,
            proxy=None,
            legacy=True,
            **options,  # type: ignore[arg-type]
        )
    assert refused.value.response.status_code == 403


def test_the_page_opens_the_websocket_of_its_own_origin(server: RunningServer, engine: HandEngine) -> None:
    url = f"{server.ws}/api/sessions/{engine.hello.session}/live"
    with connect(url, origin=f"http://127.0.0.1:{server.port}", proxy=None) as connection:  # type: ignore[arg-type]
        assert connection.recv(timeout=60)


@pytest.mark.parametrize("path", ["/", "/api/health", "/api/nothing", "/nothing.js"])
def test_every_answer_bears_the_headers_that_isolate_the_page(server: RunningServer, path: str) -> None:
    response = server.http.get(path)
    for name, value in SECURITY_HEADERS.items():
        assert response.headers[name] == value


def test_a_read_only_server_takes_no_engines(recorded: tuple[Path, str]) -> None:
    with running(recorded[0], read_only=True) as server:
        with pytest.raises(InvalidStatus) as refused:
            server.engine()
        assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    "path", ["/../pyproject.toml", "/%2e%2e/%2e%2e/app.py", "/assets/../../app.py", "/..%2fapp.py"]
)
def test_files_outside_the_page_are_not_served(server: RunningServer, path: str) -> None:
    response = server.http.get(path)
    assert response.status_code in (404, 503)
    assert "FastAPI" not in response.text
