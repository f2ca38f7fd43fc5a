"""``kvarium why SESSION …``: questions on the command line."""

import contextlib
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from kvarium.errors import WrongUsageError
from kvarium.recording_options import AsJson, Db, SessionOrFile, reading_session, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvarium.why.past import Past
    from kvarium.why.questions import Question


class _Questions(typer.core.TyperGroup):
    """The questions. Who leaves out the session is told where it belongs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        # Any: Typer has its own click, whose types are private.
        session = ctx.params.get("session")
        if session in self.commands:
            raise WrongUsageError(
                f"{session!r} is a question, and the session comes before it: kvarium why latest {session} …"
            )
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Questions,
    help="Ask a recording why: exact answers derived from its ledger, with the places that prove them.\n\n"
    "kvarium why latest evicted 42        why block 42 lost its content the last time\n\n"
    "kvarium why copy.db evicted 42#3     in that life of it, of the session in a file\n\n"
    "kvarium why latest preempted r17     why request r17 lost its blocks\n\n"
    "kvarium why latest waits r17         what request r17 waits for at the end, or after --step\n\n"
    "kvarium why latest missed r17        why the prefix cache did not hold more of its prompt\n\n"
    "kvarium why latest memory            where the memory goes\n\n"
    "kvarium why latest leaks --since 9   is any block held for nobody that was not so after step 9\n\n"
    "kvarium why latest memory --db FILE  of another recording than the usual one; options stand behind the question\n\n"
    "docs/why.md says what each word of an answer means.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Step = Annotated[
    int | None,
    typer.Option("--step", min=0, metavar="STEP", help="The last one up to this step.", show_default=False),
]


After = Annotated[
    int | None,
    typer.Option(
        "--step", min=0, metavar="STEP", help="After this step; default: the last.", show_default=False
    ),
]


@app.callback()
def why(context: typer.Context, session: SessionOrFile) -> None:
    """Ask a recording why."""
    context.obj = session


@app.command()
def evicted(
    context: typer.Context,
    block: Annotated[
        str | None,
        typer.Argument(metavar="BLOCK[#GENERATION]", help="A block, or one life of it.", show_default=False),
    ] = None,
    op: Annotated[
        int | None,
        typer.Option(
            "--op", min=0, metavar="OP", help="The eviction that is this operation.", show_default=False
        ),
    ] = None,
    step: Step = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Why did this block lose its content?

    Who asked for a block, how the free queue stood, how long the block had been idle, who had hit it, and who wanted its
    content again.
    """
    from kvarium.why.questions import Evicted

    if (block is None) == (op is None):
        raise WrongUsageError(
            "say which eviction: a block, as 42 or 42#3, or --op with the number of the operation"
        )
    if op is not None and step is not None:
        raise WrongUsageError("--op names one eviction: --step belongs to a block")
    number, generation = (None, None) if block is None else life_of(block)
    _tell(context, db, as_json, Evicted(block=number, generation=generation, op=op, step=step))


RequestName = Annotated[
    str, typer.Argument(metavar="REQUEST", help="A request: r17, 17, or its name.", show_default=False)
]


@app.command()
def preempted(
    context: typer.Context, request: RequestName, step: Step = None, db: Db = None, as_json: AsJson = False
) -> None:
    """Why did this request lose its blocks?

    For whom, how many blocks that one needed and how many were free, who else ran, what was lost, the times before, and
    whether it thrashes.
    """
    from kvarium.why.questions import PreemptedAt

    _tell(context, db, as_json, PreemptedAt(request=request, step=step))


@app.command()
def waits(
    context: typer.Context,
    request: RequestName,
    step: After = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Why does this request wait?

    Since when, behind whom, how many blocks it needs and how many are free, the step's tokens, and who runs meanwhile.
    """
    from kvarium.why.questions import WaitsAt

    _tell(context, db, as_json, WaitsAt(request=request, step=step))


@app.command()
def missed(
    context: typer.Context, request: RequestName, step: Step = None, db: Db = None, as_json: AsJson = False
) -> None:
    """Why did this request's prefix miss?

    Never seen, evicted (when, by whom), shorter than a block, the last token, another salt or LoRA, or another text, side by
    side with the nearest one: of its first admission, or of the last one up to --step.
    """
    from kvarium.why.questions import MissedAt

    _tell(context, db, as_json, MissedAt(request=request, step=step))


@app.command()
def memory(context: typer.Context, step: After = None, db: Db = None, as_json: AsJson = False) -> None:
    """Where does the memory go?

    Blocks by what they are and by who holds them, slots that are not filled, and what sharing saves.
    """
    from kvarium.why.questions import MemoryAt

    _tell(context, db, as_json, MemoryAt(step=step))


@app.command()
def leaks(
    context: typer.Context,
    since: Annotated[
        int, typer.Option("--since", min=0, metavar="STEP", help="The baseline: the state after this step.")
    ] = 0,
    step: After = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Is any block held for nobody?

    By a table of a request that has ended, by a copy's pin, or by nothing at all; and was it so at the baseline already?
    """
    from kvarium.why.questions import LeaksAt

    _tell(context, db, as_json, LeaksAt(baseline=since, step=step))


def life_of(said: str) -> tuple[int, int | None]:
    """A block and its generation, if that is said."""
    found = re.fullmatch(r"([0-9]{1,9})(?:#([0-9]{1,9}))?", said)
    if found is None:
        raise WrongUsageError(
            f"{said[:100]!r} is no block: 42 is one, and 42#3 its third life (in a shell, in quotes)"
        )
    return int(found[1]), None if found[2] is None else int(found[2])


def _tell(context: typer.Context, db: str | None, as_json: bool, question: "Question") -> None:
    import msgspec

    from kvarium.why.answers import answer
    from kvarium.why.telling import lines

    with _past(context.obj, db) as past:
        found = answer(past, question)
    if as_json:
        say(msgspec.json.encode(found).decode())
    else:
        say("\n".join(lines(found)))


@contextlib.contextmanager
def _past(session: str, db: str | None) -> "Iterator[Past]":
    from kvarium.recording.seek import Seeker
    from kvarium.why.past import Past

    with reading_session(session, db) as (reader, number), contextlib.closing(Seeker(reader)) as seeker:
        yield Past(reader, seeker, number)
