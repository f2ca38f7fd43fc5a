"""The arguments of commands, read one by one: what is wrong is said in one line, with the value."""

import math

from kvarium_engine.memory.extra_keys import ExtraKeys
from kvarium_engine.scheduling.sampling_params import (
    MAX_N,
    MOST_LOGPROBS,
    MOST_TOKENS,
    EarlyStopping,
    SamplingParams,
)
from kvarium_ledger.messages import Argument

Args = dict[str, Argument]
MOST_PROMPT_TOKENS = 1 << 20
MOST_PROMPT_BYTES = 1 << 20
MOST_KEY_CHARACTERS = 200

SAMPLING_ARGUMENTS = (
    "max_tokens",
    "n",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "seed",
    "ignore_eos",
    "stop",
    "stop_token_ids",
    "min_tokens",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "beam_width",
    "length_penalty",
    "early_stopping",
)
"""What says how a request is sampled and what ends it."""


_LARGEST = 1_000_000_000
"""No number that says how to sample means anything beyond."""


class CommandError(Exception):
    """A command that can't be carried out; its text is the answer."""


def only(args: Args, *names: str) -> None:
    """Raises where an argument is none of ``names``."""
    unknown = sorted(set(args) - set(names))
    if unknown:
        raise CommandError(f"unknown argument {unknown[0]!r}: it takes {', '.join(names) or 'none'}")


def integer(args: Args, name: str, default: int, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``."""
    value = args.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise CommandError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
    return value


def number(args: Args, name: str, default: float) -> float:
    """A number of a sensible size."""
    value = args.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CommandError(f"{name} must be a number, not {value!r}")
    # A whole number may be too large for math.isfinite.
    if isinstance(value, float) and not math.isfinite(value):
        raise CommandError(f"{name} must be a finite number, not {value!r}")
    if abs(value) > _LARGEST:
        raise CommandError(f"{name} must be a number from -{_LARGEST} to {_LARGEST}, not {value!r}")
    return float(value)


def flag(args: Args, name: str) -> bool:
    """True or false."""
    value = args.get(name, False)
    if not isinstance(value, bool):
        raise CommandError(f"{name} must be true or false, not {value!r}")
    return value


def text(args: Args, name: str) -> str:
    """A text that is not empty."""
    value = args.get(name)
    if not isinstance(value, str) or not value:
        raise CommandError(f"{name} must be a text that is not empty, not {value!r}")
    size = len(value.encode(errors="surrogatepass"))
    if size > MOST_PROMPT_BYTES:
        raise CommandError(f"{name} has {size:,} bytes: at most {MOST_PROMPT_BYTES:,} are taken")
    return value


def _key(args: Args, name: str) -> str | None:
    """A short text that can be read, or none."""
    value = args.get(name)
    if value is None:
        return None
    wanted = f"{name} must be a text of 1 to {MOST_KEY_CHARACTERS} printable characters"
    if not isinstance(value, str):
        raise CommandError(f"{wanted}, not {value!r}")
    if not 1 <= len(value) <= MOST_KEY_CHARACTERS or not value.isprintable():
        # Not the value itself: answers are recorded, and a salt is a secret.
        odd = "" if value.isprintable() else ", and some are not printable"
        raise CommandError(f"{wanted}: this one has {len(value)}{odd}")
    return value


def extra_keys(args: Args) -> ExtraKeys:
    """What the hashes of the request's blocks depend on beside its tokens."""
    return ExtraKeys(_key(args, "lora_name"), _key(args, "cache_salt"))


def token_ids(name: str, values: list[int | str], vocab_size: int) -> list[int]:
    """Token ids, all of which the model knows; there may be none."""
    found: list[int] = []
    for token in values:
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < 1 << 32:
            raise CommandError(f"{name} must hold token ids, not {token!r}")
        found.append(token)
    if found and max(found) >= vocab_size:
        raise CommandError(f"{name} holds {max(found)}: this model knows tokens below {vocab_size}")
    return found


def _stop(args: Args) -> tuple[str, ...]:
    value = args.get("stop")
    if value is None:
        return ()
    values = [value] if isinstance(value, str) else value
    texts = [item for item in values if isinstance(item, str)] if isinstance(values, list) else []
    if not isinstance(values, list) or len(texts) < len(values):
        raise CommandError(f"stop must be a text or a list of texts, not {value!r}")
    return tuple(texts)


def _stop_token_ids(args: Args, vocab_size: int) -> tuple[int, ...]:
    value = args.get("stop_token_ids")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise CommandError(f"stop_token_ids must be a list of token ids, not {value!r}")
    return tuple(token_ids("stop_token_ids", value, vocab_size))


def _logit_bias(args: Args, vocab_size: int) -> dict[int, float]:
    value = args.get("logit_bias")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CommandError(f"logit_bias must be a number for each token id, not {value!r}")
    bias: dict[int, float] = {}
    for token in value:
        if not token.isdecimal() or len(token) > 10:
            raise CommandError(f"logit_bias must have token ids as its names, not {token!r}")
        bias[int(token)] = number({token: value[token]}, token, 0.0)
    token_ids("logit_bias", list(bias), vocab_size)
    return bias


def _early_stopping(args: Args) -> EarlyStopping:
    value = args.get("early_stopping", False)
    if isinstance(value, bool):
        return value
    if value == "never":
        return "never"
    raise CommandError(f'early_stopping must be false, true or "never", not {value!r}')


def sampling_params(args: Args, vocab_size: int) -> SamplingParams:
    """How a request is sampled. Raises :class:`CommandError` or :class:`ValueError`, naming the value."""

    def optional(name: str, high: int) -> int | None:
        return None if args.get(name) is None else integer(args, name, 0, 0, high)

    return SamplingParams(
        max_tokens=None
        if args.get("max_tokens", 16) is None
        else integer(args, "max_tokens", 16, 1, MOST_PROMPT_TOKENS),
        n=integer(args, "n", 1, 1, MAX_N),
        temperature=number(args, "temperature", 1.0),
        top_k=integer(args, "top_k", 0, 0, 1 << 31),
        top_p=number(args, "top_p", 1.0),
        min_p=number(args, "min_p", 0.0),
        seed=optional("seed", 1 << 31),
        ignore_eos=flag(args, "ignore_eos"),
        stop=_stop(args),
        stop_token_ids=_stop_token_ids(args, vocab_size),
        min_tokens=integer(args, "min_tokens", 0, 0, MOST_TOKENS),
        repetition_penalty=number(args, "repetition_penalty", 1.0),
        presence_penalty=number(args, "presence_penalty", 0.0),
        frequency_penalty=number(args, "frequency_penalty", 0.0),
        logit_bias=_logit_bias(args, vocab_size),
        logprobs=optional("logprobs", MOST_LOGPROBS),
        beam_width=None if args.get("beam_width") is None else integer(args, "beam_width", 2, 2, MAX_N),
        length_penalty=number(args, "length_penalty", 1.0),
        early_stopping=_early_stopping(args),
    )
