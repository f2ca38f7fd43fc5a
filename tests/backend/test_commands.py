"""Commands: checked, passed to the engine, answered, or refused with a code that says why."""

import threading
from typing import Any

import pytest

from kvarium import live_session, remote_server
from kvarium.api.commands import ARGS, checked
from kvarium_engine.steering import SUBMIT_ARGUMENTS
from kvarium_ledger.messages import Answer, Command
from tests.backend.hand_engine import HandEngine, hello
from tests.backend.running_server import RunningServer, wait_for


def post(server: RunningServer, session: str, body: Any) -> Any:
    return server.http.post(f"/api/sessions/{session}/commands", json=body)


def test_a_command_reaches_the_engine_and_its_answer_comes_back(
    server: RunningServer, engine: HandEngine
) -> None:
    engine.answer = lambda command: Answer(id=command.id, result={"request": "r7"})
    body = {"name": "submit", "args": {"prompt_tokens": 40, "max_tokens": 5, "n": 2}}
    response = post(server, engine.hello.session, body)
    assert response.json() == {"ok": True, "result": {"request": "r7"}}
    sent = [message for message in engine.messages if isinstance(message, Command)]
    assert [(command.name, command.args) for command in sent] == [
        ("submit", {"prompt_tokens": 40, "max_tokens": 5, "n": 2})
    ]
    assert sent[0].asked_by == "127.0.0.1"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"name": "explode"}, "no command 'explode'"),
        ({"name": "submit"}, "either prompt"),
        ({"name": "submit", "args": {"prompt": "x", "prompt_tokens": 3}}, "either prompt"),
        ({"name": "submit", "args": {"prompt_tokens": 0}}, "prompt_tokens must be at least 1, not 0"),
        ({"name": "submit", "args": {"prompt_tokens": -4}}, "prompt_tokens must be at least 1, not -4"),
        (
            {"name": "submit", "args": {"prompt": "x", "max_tokens": "many"}},
            'max_tokens must be a whole number, not "many"',
        ),
        ({"name": "submit", "args": {"prompt": "x", "n": 2.5}}, "n must be a whole number, not 2.5"),
        ({"name": "submit", "args": {"prompt": "x", "chat": 1}}, "chat must be true or false, not 1"),
        ({"name": "submit", "args": {"prompt_tokens": [1, -4]}}, "prompt_tokens[1] must be at least 0"),
        ({"name": "submit", "args": {"prompt": "x", "top_p": 2.0}}, "top_p must be at most 1, not 2.0"),
        ({"name": "submit", "args": {"prompt": "x", "top_p": 0}}, "top_p must be more than 0, not 0"),
        ({"name": "submit", "args": {"prompt": "x", "stop": [3]}}, "stop[0] must be text"),
        ({"name": "submit", "args": {"prompt": "x", "stop": 3}}, "stop must be text or a list, not 3"),
        (
            {"name": "submit", "args": {"prompt": "x", "stop_token_ids": [7, -1]}},
            "stop_token_ids[1] must be at least 0",
        ),
        (
            {"name": "submit", "args": {"prompt": "x", "logit_bias": {"5": "much"}}},
            "logit_bias[...] must be a number",
        ),
        (
            {"name": "submit", "args": {"prompt": "x", "colour": "red"}},
            "submit takes no colour, but prompt, ",
        ),
        ({"name": "abort"}, "abort needs request"),
        ({"name": "step", "args": {"steps": 0}}, "steps must be at least 1, not 0"),
        ({"name": "hold", "args": {"now": True}}, "hold takes no now, but no arguments"),
        (
            {"name": "reset_prefix_cache", "args": {"now": 1}},
            "reset_prefix_cache takes no now, but no arguments",
        ),
        ({"name": "submit", "args": {"prompt": "x", "cache_salt": 3}}, "cache_salt must be text, not 3"),
        (
            {"name": "submit", "args": {"prompt": "x", "early_stopping": 1}},
            'early_stopping must be false, true or "never", not 1',
        ),
        (
            {"name": "submit", "args": {"prompt": "x", "early_stopping": "ever"}},
            'early_stopping must be false, true or "never", not "ever"',
        ),
        (
            {"name": "submit", "args": {"prompt_tokens": 1 << 21}},
            "prompt_tokens must be at most 1048576, not 2097152",
        ),
        (
            {"name": "submit", "args": {"prompt": "x", "max_tokens": 1 << 21}},
            "max_tokens must be at most 1048576, not 2097152",
        ),
        (
            {"name": "abort", "args": {"request": 99999999999999999999}},
            "request must be at most 9223372036854775807, not 99999999999999999999",
        ),
        ({"name": "x" * 2_000_000}, f"no command '{'x' * 100}…': it is one of submit"),
        ({"args": {}}, "name"),
        ([1], "object"),
        ("text", "object"),
    ],
)
def test_bad_arguments_are_422_with_the_reason_and_reach_no_engine(
    server: RunningServer, engine: HandEngine, body: Any, what: str
) -> None:
    response = post(server, engine.hello.session, body)
    assert response.status_code == 422
    told = response.json()["detail"]
    assert what in told
    assert "`" not in told
    assert not any(isinstance(message, Command) for message in engine.messages)


@pytest.mark.parametrize(
    "body", [b"{", b'{"name": "submit", "args": {"prompt": ' + b"[" * 5_000 + b"]" * 5_000 + b"}}"]
)
def test_a_body_that_is_no_json_or_too_deep_is_422(
    server: RunningServer, engine: HandEngine, body: bytes
) -> None:
    path = f"/api/sessions/{engine.hello.session}/commands"
    assert server.http.post(path, content=body).status_code == 422


def test_an_error_of_the_engine_is_told(server: RunningServer, engine: HandEngine) -> None:
    engine.answer = lambda command: Answer(id=command.id, error="there is no request r9")
    response = post(server, engine.hello.session, {"name": "abort", "args": {"request": "r9"}})
    assert (response.status_code, response.json()["detail"]) == (422, "there is no request r9")


def test_an_unknown_session_is_404(server: RunningServer) -> None:
    assert post(server, "nobody", {"name": "hold"}).status_code == 404


def test_an_engine_that_is_not_linked_is_409(server: RunningServer) -> None:
    engine = server.engine()
    engine.break_off()
    session = engine.hello.session
    wait_for(lambda: not server.get(f"/sessions/{session}")["linked"])
    response = post(server, session, {"name": "hold"})
    assert (response.status_code, "not linked" in response.json()["detail"]) == (409, True)


def test_a_session_that_has_ended_is_409(server: RunningServer) -> None:
    engine = server.engine()
    engine.bye()
    session = engine.hello.session
    wait_for(lambda: session not in server.hub.live)
    assert post(server, session, {"name": "hold"}).status_code == 409


@pytest.mark.parametrize("name", ["hold", "release", "step"])
def test_control_is_403_where_the_engine_does_not_allow_it(server: RunningServer, name: str) -> None:
    with server.engine(hello(allow_control=False)) as engine:
        assert post(server, engine.hello.session, {"name": name}).status_code == 403
        assert post(server, engine.hello.session, {"name": "keyframe"}).status_code == 200


def test_an_engine_that_does_not_answer_is_504_and_may_yet_carry_it_out(
    server: RunningServer, engine: HandEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert live_session.ANSWER_SECONDS >= 30
    assert remote_server._SECONDS > live_session.ANSWER_SECONDS, (
        "else nothing is heard of the server's reason"
    )
    monkeypatch.setattr(live_session, "ANSWER_SECONDS", 0.25)
    engine.answer = lambda command: None
    session = engine.hello.session
    response = post(server, session, {"name": "hold"})
    assert response.status_code == 504
    assert response.json()["detail"] == (
        "the engine did not answer 'hold' within 0.25 s, and may still carry it out: "
        f"look first (`kvarium ctl {session} breaks`, or the page), before you ask again"
    )


def test_a_link_that_breaks_while_a_command_waits_is_409(server: RunningServer, engine: HandEngine) -> None:
    asked = threading.Event()

    def hang_up(command: Command) -> None:
        asked.set()

    engine.answer = hang_up  # type: ignore[assignment]
    breaking = threading.Thread(target=lambda: asked.wait(60) and engine.break_off())
    breaking.start()
    response = post(server, engine.hello.session, {"name": "hold"})
    breaking.join(60)
    assert (response.status_code, "broke" in response.json()["detail"]) == (409, True)


def test_submit_takes_the_same_arguments_here_and_in_the_engine() -> None:
    assert set(ARGS["submit"].__struct_fields__) == set(SUBMIT_ARGUMENTS)


def test_what_says_how_a_request_is_sampled_reaches_the_engine_as_it_was_given(
    server: RunningServer, engine: HandEngine
) -> None:
    engine.answer = lambda command: Answer(id=command.id)
    args = {
        "prompt_tokens": [4, 5], "stop": ["the end", "é"], "stop_token_ids": [7], "min_tokens": 2, "min_p": 0.1,
        "repetition_penalty": 1.2, "presence_penalty": -0.5, "frequency_penalty": 1.0, "logit_bias": {"5": -3.5},
        "logprobs": 0,
    }  # fmt: skip
    assert post(server, engine.hello.session, {"name": "submit", "args": args}).status_code == 200
    [sent] = [message for message in engine.messages if isinstance(message, Command)]
    assert sent.args == args


@pytest.mark.parametrize(
    ("args", "what"),
    [
        ('{"length_penalty": 1e400}', "length_penalty is 1e400: the number is too large"),
        ('{"prompt": "1e999", "max_tokens":1e999}', "max_tokens is 1e999: the number is too large"),
        ('{"logit_bias": {"5": -1E+400}}', "5 is -1E+400: the number is too large"),
        ('{"stop_token_ids": [1e400]}', "a number in the body is too large"),
    ],
)
def test_a_number_that_no_float_holds_is_told(args: str, what: str) -> None:
    with pytest.raises(ValueError, match="too large") as raised:
        checked(f'{{"name": "submit", "args": {args}}}'.encode())
    assert str(raised.value) == what
