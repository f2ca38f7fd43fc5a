"""A miss as lines to read, for a terminal."""

from kvarium.terminal import shown
from kvarium.why.missed.answer import Held, Loss, Miss, Nearest
from kvarium.why.missed.lineage import Keys
from kvarium.why.words import at, plural, span, unknown, were, who

_TEXT = 200


def lines(told: Miss) -> list[str]:
    """The answer in words."""
    again = ", which resumed after a preemption" if told.resumed else ""
    hit = were(told.hit, f" of {plural(told.tokens, 'token')}")
    found = [f"{who(told.who)} was admitted at {at(told.at)}{again}: {hit} in the prefix cache"]
    if told.missed is not None:
        found.append(
            f"it missed block {told.block} of its prompt, the tokens {told.first} to {(told.end or 0) - 1}"
        )
    found += _reason(told)
    if told.reason == "evicted" and told.behind:
        found.append(
            f"{were(told.behind, ' block of it' if told.behind == 1 else ' blocks of it')} further on in the cache still: only a hit on this one leads there"
        )
    if told.reason != "unlabelled" and told.unlabelled is not None:
        found.append(_pending(told))
    if told.reason != "other_key" and told.other_key is not None:
        found.append(_other(told))
    if told.reason != "diverges" and told.nearest is not None:
        found += _nearest(told, told.nearest)
    if told.capped:
        found.append(
            "it ends with the last token, which is always computed: a hit on it would not have been taken"
        )
    if told.others:
        more = ", ".join(f"{at(each.at)} ({each.hit} of {each.tokens})" for each in told.others[:3])
        found.append(
            f"admitted {plural(len(told.others), 'other time')}: {more}{', …' if len(told.others) > 3 else ''}"
        )
    return found + unknown(told.not_recorded)


def _reason(told: Miss) -> list[str]:
    left = told.tokens - told.hit
    match told.reason:
        case "off":
            return ["the prefix cache is off: enable_prefix_caching is false"]
        case "short":
            rest = f"the {plural(left, 'token')} behind them are" if told.hit else "its prompt is"
            return [f"{rest} shorter than a block of {told.block_size}: only full blocks are cached"]
        case "cap":
            return [
                f"all its blocks were cached; the last one, {plural(left, 'token')}, is computed all the same",
                "(the last token is always computed, and a block is hit whole)",
            ]
        case "evicted":
            return [_loss(told.evicted) if told.evicted else "it had been cached, and was lost"]
        case "unlabelled":
            return [_pending(told)]
        case "other_key":
            return [_other(told)]
        case "diverges":
            assert told.nearest is not None
            return _nearest(told, told.nearest)
        case "never_seen":
            before = (
                f"nothing else that begins with its first {told.hit} tokens"
                if told.hit
                else "nothing that begins as it does"
            )
            return [f"never seen: {before} had been cached"]
        case "not_recorded":
            return []


def _loss(loss: Loss) -> str:
    since = ""
    if loss.labelled is not None:
        kept = span(loss.at.step - loss.labelled.step, loss.at.time - loss.labelled.time)
        since = f", {kept} after it was labelled at {at(loss.labelled)}"
    by = "" if loss.asked is None else f" for {who(loss.asked)}"
    return (
        f"it had been cached: block {loss.life}, the last that held it, lost it at {at(loss.at)} "
        f"({loss.cause}{by}){since}; `evicted --op {loss.at.op}` tells why"
    )


def _pending(told: Miss) -> str:
    pending = told.unlabelled
    assert pending is not None
    steps = pending.labelled.step - told.at.step
    when = "later in this step" if not steps else f"{plural(steps, 'step')} later"
    return (
        f"it was being computed: block {pending.life} of {who(pending.who)} had {pending.filled} of {told.block_size} slots filled, "
        f"and was labelled {when}, at {at(pending.labelled)}"
    )


def _keys(keys: Keys) -> str:
    words = {"lora": "LoRA", "cache_salt": "salt"}
    told = [
        f"{words.get(each[0], shown(each[0]))} {shown(each[1])!r}" for each in keys or [] if len(each) > 1
    ]
    return "no extra keys" if not told else " and ".join(told)


def _other(told: Miss) -> str:
    other = told.other_key
    assert other is not None
    return f"the same tokens were cached with {_keys(other.keys)}, and it has {_keys(told.keys)}: {_held(other.held)}"


def _held(held: Held) -> str:
    by = "" if held.labelled is None else f"labelled by {who(held.who)} at {at(held.labelled)}, "
    if held.life is not None:
        return f"{by}held by block {held.life} then"
    return f"{by}lost by then" + ("" if held.lost is None else f", at {at(held.lost)}")


def _nearest(told: Miss, nearest: Nearest) -> list[str]:
    if nearest.agree is None:
        before = f"behind its first {plural(told.hit, 'token')}"
        return [
            f"{before} the cache has known another text only, content {nearest.held.content}: {_held(nearest.held)}"
        ]
    within = nearest.agree % told.block_size
    where = f"token {nearest.agree}" + (
        f", inside a block: the {plural(within, 'token')} of it that {'agrees is' if within == 1 else 'agree are'} of no use"
        if within
        else ", where a block begins"
    )
    found = [f"it differs from the nearest cached text at {where}", f"  which was {_held(nearest.held)}"]
    mine = _side(nearest.own_text, nearest.own)
    theirs = _side(nearest.cached_text, nearest.cached)
    return [
        *found,
        f"  from token {nearest.first} on: {mine}",
        f"  the cached one:{' ' * len(str(nearest.first))}    {theirs}",
    ]


def _side(text: str | None, tokens: list[int] | None) -> str:
    return repr(shown(text, _TEXT)) if text is not None else " ".join(map(str, tokens or []))
