"""Commands: what a person or a script asks of an engine, checked here and answered by it."""

from typing import Annotated, Any, Final, Literal

import msgspec
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import Response

from kvarium.api import bodies
from kvarium.api.context import JSON, HubDependency
from kvarium.engine_link import NoAnswerError, NotLinkedError, RefusedCommandError
from kvarium.errors import UnknownSessionError
from kvarium.hub import Hub
from kvarium.live_session import LiveSession
from kvarium_ledger import codec
from kvarium_ledger.filtering.explaining import explain, reason
from kvarium_ledger.filtering.predicates import CONDITIONS, read_predicate
from kvarium_ledger.filtering.reading import UnreadableFilterError
from kvarium_ledger.messages import Argument, Health

router = APIRouter(prefix="/api")

MOST_TOKENS: Final = 1 << 20
"""What an engine takes at most, of a prompt and of what is asked for."""

_MOST_BYTES: Final = 32 << 20
"""Of a command: so many tokens by their ids, and their text."""

Tokens = Annotated[int, msgspec.Meta(ge=1, le=MOST_TOKENS)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=(1 << 31) - 1)]
Number = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]

Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]

Int53 = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class _Args(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    pass


class _Submit(_Args):
    prompt: str | None = None
    prompt_tokens: Tokens | list[Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]] | None = None
    chat: bool | None = None
    system: str | None = None
    follow: str | Int64 | None = None
    prefix_tokens: Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)] | None = None
    prefix_seed: Annotated[int, msgspec.Meta(ge=0, le=1 << 31)] | None = None
    max_tokens: Tokens | None = None
    n: Positive | None = None
    priority: Number | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    top_k: Number | None = None
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    min_p: float | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=1 << 31)] | None = None
    ignore_eos: bool | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]] | None = None
    min_tokens: Number | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: Number | None = None
    beam_width: Number | None = None
    length_penalty: float | None = None
    early_stopping: bool | Literal["never"] | None = None
    lora_name: str | None = None
    cache_salt: str | None = None
    name: str | None = None


class _Abort(_Args):
    request: str | Int64


class _Step(_Args):
    steps: Positive = 1


class _RunTo(_Args):
    step: Int53


class _Slow(_Args):
    rate: Annotated[float, msgspec.Meta(gt=0)] | None


class _Break(_Args):
    when: Annotated[str, msgspec.Meta(min_length=1)]
    hits: Annotated[int, msgspec.Meta(ge=1, le=1 << 53)] | None = None
    mark: bool | None = None


class _OfBreakpoint(_Args):
    breakpoint: Int53


class _ReadBlock(_Args):
    block: Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]
    generation: Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]
    slot: Annotated[int, msgspec.Meta(ge=0, lt=256)] | None = None


class _Nothing(_Args):
    pass


ARGS: Final[dict[str, type[_Args]]] = {
    "submit": _Submit,
    "abort": _Abort,
    "reset_prefix_cache": _Nothing,
    "read_block": _ReadBlock,
    "hold": _Nothing,
    "release": _Nothing,
    "step": _Step,
    "run_to": _RunTo,
    "slow": _Slow,
    "break": _Break,
    "unbreak": _OfBreakpoint,
    "enable": _OfBreakpoint,
    "disable": _OfBreakpoint,
    "keyframe": _Nothing,
}
"""The commands and their arguments."""

CONTROL: Final = frozenset(
    {"hold", "release", "step", "run_to", "slow", "break", "unbreak", "enable", "disable"}
)
"""Commands that stop or drive the engine: only where it allows control."""


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    args: dict[str, Any] = {}


def checked(body: bytes) -> tuple[str, dict[str, Argument]]:
    """A command's name and arguments. Raises :class:`ValueError` with what is wrong."""
    command = bodies.decoded(body, _Body, "a command")
    kind = ARGS.get(command.name)
    if kind is None:
        raise ValueError(
            f"there is no command {bodies.short(command.name)!r}: it is one of {', '.join(ARGS)}"
        )
    try:
        args = msgspec.convert(command.args, kind)
    except msgspec.ValidationError as error:
        raise ValueError(bodies.explain(error, kind, command.name, command.args)) from None
    if isinstance(args, _Submit) and (args.prompt is None) == (args.prompt_tokens is None):
        raise ValueError("submit takes either prompt (text) or prompt_tokens (how many, or their ids)")
    if isinstance(args, _Break):
        try:
            read_predicate(args.when)
        except UnreadableFilterError as error:
            raise ValueError(explain(error.fault, "predicate", CONDITIONS)) from None
    found: dict[str, Argument] = msgspec.to_builtins(args)
    if isinstance(args, _Step):
        found["steps"] = args.steps
    return command.name, found


def _live(hub: Hub, session: str) -> LiveSession:
    live = hub.live.get(session)
    if live is None:
        try:
            hub.number(session)
        except UnknownSessionError:
            raise HTTPException(404, f"no session {session!r}") from None
        raise HTTPException(409, f"session {session} is recorded: no engine is linked to it")
    return live


@router.get("/sessions/{session}/control")
async def control(session: str, hub: HubDependency) -> Response:
    """How the session's engine goes, as it said last: once a second, and at once when that changes.

    ``held``, ``run_to``, ``slow``, ``stop`` (what holds it) and ``breakpoints`` are those of
    :class:`kvarium_ledger.messages.Health`; ``allowed`` says whether it can be controlled, ``step`` is its last one.
    """
    live = _live(hub, session)
    if live.link is None:
        raise HTTPException(409, f"the engine of session {session} is not linked")
    health = Health(time=0) if live.health_frame is None else codec.open_frame(live.health_frame)
    assert isinstance(health, Health)
    told = {name: getattr(health, name) for name in ("held", "run_to", "slow", "stop")}
    told["breakpoints"] = [msgspec.structs.asdict(each) for each in health.breakpoints]
    return JSON(told | {"allowed": live.hello.allow_control, "step": live.counters["last_step"]})


@router.get("/predicate")
async def predicate(when: Annotated[str, Query(max_length=10_000)]) -> Response:
    """Can this predicate be read (docs/control.md)? ``fault`` is null if so, and else says where and why it can't.

    Its ``message`` leaves to ``at`` where that is.
    """
    try:
        read_predicate(when)
    except UnreadableFilterError as error:
        told = reason(error.fault, "predicate", CONDITIONS)
        return JSON({"fault": msgspec.structs.asdict(error.fault) | {"message": told}})
    return JSON({"fault": None})


@router.post("/sessions/{session}/commands")
async def command(session: str, request: Request, hub: HubDependency) -> Response:
    """Pass a command to the session's engine and answer with what it said."""
    live = _live(hub, session)
    try:
        name, args = checked(await bodies.received(request, _MOST_BYTES))
    except ValueError as error:
        raise HTTPException(422, str(error)) from None
    if live.hello.replay_of is not None:
        raise HTTPException(409, f"session {session} replays a recording: nothing can be asked of its engine")
    if name in CONTROL and not live.hello.allow_control:
        raise HTTPException(403, f"this engine does not allow control ({name}): it was started so")
    asked_by = request.headers.get("x-kvarium-by", "") or (request.client.host if request.client else "")
    try:
        result = await live.command(name, args, asked_by[:100])
    except NotLinkedError as error:
        raise HTTPException(409, str(error)) from None
    except NoAnswerError as error:
        raise HTTPException(504, str(error)) from None
    except RefusedCommandError as error:
        raise HTTPException(422, str(error)) from None
    return JSON({"ok": True, "result": result})
