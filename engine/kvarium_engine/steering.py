"""Steering: what is asked of a running engine, carried out between two steps, recorded and answered.

    submit   {prompt | prompt_tokens, …}                     all of them: :data:`SUBMIT_ARGUMENTS`
             {prompt, chat: true, system | follow}           a turn of a conversation: its first one, or a further one
    abort    {request}        its name or number
    reset_prefix_cache        only while no block is in use
    read_block {block, generation, slot}                     only where text is recorded: see _read_block
    hold, step, break …       only where control is allowed: see :mod:`.control`
    keyframe

A held engine takes no step of its own, and still answers.
"""

from array import array
from collections.abc import Callable

from kvarium_engine import conversation
from kvarium_engine.arguments import (
    MOST_PROMPT_TOKENS,
    SAMPLING_ARGUMENTS,
    Args,
    CommandError,
    extra_keys,
    flag,
    integer,
    only,
    sampling_params,
    text,
    token_ids,
)
from kvarium_engine.control import Control
from kvarium_engine.engine import Engine
from kvarium_engine.model.seeded_tokens import VOCABULARY, seeded_tokens
from kvarium_engine.read_block import read_block
from kvarium_engine.scheduling.roster import REMEMBERED
from kvarium_engine.scheduling.stopping import check_barred
from kvarium_engine.vocabulary import Vocabulary
from kvarium_ledger.messages import Answer, Argument, Command, Result, Scalar

SUBMIT_ARGUMENTS = (
    "prompt",
    "prompt_tokens",
    "chat",
    "system",
    "follow",
    "prefix_tokens",
    "prefix_seed",
    *SAMPLING_ARGUMENTS,
    "priority",
    "lora_name",
    "cache_salt",
    "name",
)
"""What ``submit`` takes; anything else is refused with this list."""


class Steering:
    """Carries commands out on an ``engine``.

    ``control`` is that of the engine itself; ``allow_control``: may commands hold and step the engine? ``tells_text``: is text
    recorded in full?
    """

    def __init__(self, engine: Engine, allow_control: bool = False, tells_text: bool = True) -> None:
        self.engine = engine
        self.control = Control(engine, allow_control, tells_text)
        self.tells_text = tells_text
        self._prompts = 0
        self._handlers: dict[str, Callable[[Args, str], dict[str, Result]]] = {
            "submit": self._submit,
            "abort": self._abort,
            "reset_prefix_cache": self._reset_prefix_cache,
            "read_block": self._read_block,
            **self.control.handlers,
            "keyframe": self._keyframe,
        }

    def carry_out(self, command: Command) -> Answer:
        """Carry a command out and record it; the answer says how it went. Never raises for what a command says."""
        error: str | None = None
        result: dict[str, Result] = {}
        handler = self._handlers.get(command.name)
        if handler is None:
            error = f"there is no command {command.name!r}: it is one of {', '.join(self._handlers)}"
        else:
            try:
                result = handler(command.args, command.asked_by)
            except (CommandError, ValueError) as fault:
                error = str(fault)
        args = self._recorded(command)
        made = {"submit": "request", "break": "breakpoint"}.get(command.name)
        if made is not None and error is None:
            # Which it became: by that a reader finds how a request is sampled, and what is met later.
            number = result[made]
            assert isinstance(number, int)
            args[made] = number
        self.engine.ledger.control(command.id, command.name, args, command.asked_by, error)
        return Answer(id=command.id, error=error, result=result)

    @staticmethod
    def _recorded(command: Command) -> dict[str, Scalar]:
        """The arguments as they are recorded: texts and lists are told by their length, as text belongs to ``text``."""
        args: dict[str, Scalar] = {}
        for name, value in command.args.items():
            if isinstance(value, list | dict) or (
                name in ("prompt", "system", "stop", "cache_salt") and isinstance(value, str)
            ):
                args[f"{name}_length"] = len(value)
            else:
                args[name] = value
        return args

    # -- requests -----------------------------------------------------------------------------------------------

    def _prompt(self, args: Args) -> tuple["array[int]", str | None]:
        prompt, count = args.get("prompt"), args.get("prompt_tokens")
        prefix_tokens = integer(args, "prefix_tokens", 0, 0, MOST_PROMPT_TOKENS)
        prefix = self._seeded(integer(args, "prefix_seed", 0, 0, 1 << 31), prefix_tokens)
        if (prompt is None) == (count is None):
            raise CommandError(
                "give either prompt (a text) or prompt_tokens (how many seeded tokens, or their ids)"
            )
        if prompt is not None:
            said = text(args, "prompt")
            prefix.extend(self._vocabulary().encode(said))
            return prefix, None if prefix_tokens else said
        if isinstance(count, list):
            if not count:
                raise CommandError("prompt_tokens must hold token ids, at least one")
            prefix.extend(token_ids("prompt_tokens", count, self.engine.runner.vocab_size))
            return prefix, None
        self._prompts += 1
        words = integer(args, "prompt_tokens", 0, 0 if prefix_tokens else 1, MOST_PROMPT_TOKENS)
        prefix.extend(self._seeded((1 << 32) + self._prompts, words))
        return prefix, None

    def _seeded(self, seed: int, count: int) -> "array[int]":
        """Seeded tokens, of those that the model knows."""
        tokens, size = seeded_tokens(seed, count), self.engine.runner.vocab_size
        return tokens if size >= VOCABULARY else array("I", (token % size for token in tokens))

    def _vocabulary(self) -> Vocabulary:
        vocabulary = self.engine.runner.vocabulary
        if vocabulary is None:
            raise CommandError("this engine's model has no tokenizer: give prompt_tokens, not prompt")
        return vocabulary

    def _turn(self, args: Args) -> tuple["array[int]", str]:
        """The prompt of a turn of a conversation, and what the user said."""
        for name in ("prompt_tokens", "prefix_tokens", "prefix_seed"):
            if args.get(name) is not None:
                raise CommandError(f"with chat, give prompt (what the user says), not {name}")
        message = text(args, "prompt")
        vocabulary = self._vocabulary()
        if not vocabulary.has_chat_template:
            raise CommandError(
                f"the model {self.engine.runner.model!r} has no chat template: leave chat out, and the prompt is taken as it is"
            )
        follow = args.get("follow")
        if follow is None:
            system = "" if args.get("system") is None else text(args, "system")
            return conversation.opening(vocabulary, message, system), message
        if args.get("system") is not None:
            raise CommandError(
                "a conversation that goes on keeps its system prompt: give system or follow, not both"
            )
        tokens = self._followed(follow)
        return conversation.continuation(vocabulary, tokens, self.engine.runner.eos_tokens, message), message

    def _followed(self, wanted: Argument) -> "array[int]":
        """The tokens of the first sequence of a request that has ended."""
        if isinstance(wanted, bool) or not isinstance(wanted, int | str):
            raise CommandError(f"follow must be a request's name or number, not {wanted!r}")
        roster = self.engine.scheduler.roster
        running = roster.find(wanted)
        if running is not None:
            raise CommandError(f"request {wanted!r} has not ended: follow it when it has, or abort it first")
        request = roster.find_ended(wanted)
        if request is None or request.first is None:
            raise CommandError(
                f"there is no request {wanted!r} to follow: the last {REMEMBERED} that have run are remembered"
            )
        return request.told

    def _submit(self, args: Args, asked_by: str) -> dict[str, Result]:
        only(args, *SUBMIT_ARGUMENTS)
        chat, name = flag(args, "chat"), args.get("name", "")
        if not chat:
            for other in ("system", "follow"):
                if args.get(other) is not None:
                    raise CommandError(f"{other} belongs to a conversation: give chat = true with it")
        prompt, said = self._turn(args) if chat else self._prompt(args)
        if not isinstance(name, str) or len(name) > 200 or not name.isprintable():
            raise CommandError("name must be a text of at most 200 printable characters")
        params = sampling_params(args, self.engine.runner.vocab_size)
        check_barred(params, self.engine.runner.eos_tokens, self.engine.runner.vocab_size)
        if params.logprobs is not None and not self.engine.runner.has_logits:
            raise CommandError(f"the {self.engine.runner.name} runner has no logits: leave logprobs out")
        priority = integer(args, "priority", 0, -1_000_000, 1_000_000)
        keys = extra_keys(args)
        if keys.lora_name is not None and self.engine.runner.has_logits:
            raise CommandError(
                f"the {self.engine.runner.name} runner loads no LoRA adapters, so there is none named "
                f"{keys.lora_name!r}: leave lora_name out"
            )
        request = self.engine.scheduler.submit(prompt, params, name, priority, said, keys)
        return {
            "request": request.id,
            "name": request.name,
            "refused": request.state is None,
            "prompt_tokens": request.prompt_tokens,
        }

    def _abort(self, args: Args, asked_by: str) -> dict[str, Result]:
        only(args, "request")
        wanted = args.get("request")
        if isinstance(wanted, bool) or not isinstance(wanted, int | str):
            raise CommandError(f"request must be a request's name or number, not {wanted!r}")
        request = self.engine.scheduler.roster.find(wanted)
        if request is None:
            raise CommandError(f"there is no request {wanted!r} in the engine")
        self.engine.scheduler.abort(request, asked_by)
        return {"request": request.id, "name": request.name}

    def _reset_prefix_cache(self, args: Args, asked_by: str) -> dict[str, Result]:
        only(args)
        return {"blocks": self.engine.pool.reset_cache()}

    def _read_block(self, args: Args, asked_by: str) -> dict[str, Result]:
        only(args, "block", "generation", "slot")
        if not self.tells_text:
            # In the first layer a key depends on its token and place alone: its norms tell which token it is.
            raise CommandError(
                "norms of keys tell tokens, and this engine tells no text: start it with --record-text full"
            )
        return read_block(self.engine, args)

    def _keyframe(self, args: Args, asked_by: str) -> dict[str, Result]:
        only(args)
        self.engine.keyframe()
        return {"step": self.engine.steps - 1}
