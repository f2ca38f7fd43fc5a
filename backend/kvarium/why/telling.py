"""Answers as lines to read, for a terminal: a sentence a fact, with the place where it stands."""

from kvarium.findings.answer import Findings
from kvarium.findings.telling import lines as findings
from kvarium.terminal import figure, shown
from kvarium.why.answers import Answer
from kvarium.why.eviction import Eviction, Queue
from kvarium.why.holders import Holder
from kvarium.why.leaks import Leak, Leaks
from kvarium.why.memory import Memory
from kvarium.why.missed.answer import Miss
from kvarium.why.missed.telling import lines as missed
from kvarium.why.preemption import Preemption
from kvarium.why.waiting import Reason, Wait
from kvarium.why.wanted import Want
from kvarium.why.words import are, at, plural, span, unknown, were, who


def lines(answer: Answer) -> list[str]:
    """The answer in words."""
    match answer:
        case Eviction():
            return _eviction(answer)
        case Preemption():
            return _preemption(answer)
        case Wait():
            return _wait(answer)
        case Miss():
            return missed(answer)
        case Memory():
            return _memory(answer)
        case Leaks():
            return _leaks(answer)
        case Findings():
            return findings(answer)


# -- why was this block evicted -----------------------------------------------------------------------------------------

_CAUSES = {
    "reset": "the prefix cache was reset",
    "failed_step": "the forward that should have computed its content failed",
    "unscheduled": "its request was preempted in the very step that had scheduled it",
}


def _eviction(told: Eviction) -> list[str]:
    found = [f"block {told.life} lost content {told.content} at {at(told.at)}"]
    if told.cause == "allocate":
        found.append(f"asked by {who(told.asked)}, which took {plural(told.needed, 'block')} in this step")
    else:
        found.append(f"because {_CAUSES.get(told.cause, told.cause)}")
    if told.command is not None:
        by = shown(told.command.asked_by) or "somebody unnamed"
        found.append(f"asked by {by}: {told.command.name}, record {told.command.record}")
    if told.queue is not None:
        found += _queue(told.queue)
    else:
        found.append("it was in use, not in the free queue")
    if told.idle is not None:
        idle = told.idle
        since = f"since its {idle.operation} at {at(idle.since)}"
        found.append(f"idle for {span(idle.steps, idle.ns)}, {since}")
    hits = ", ".join(f"{who(hit.who)} at {at(hit.at)}" for hit in told.hit_by[:3])
    more = ", …" if len(told.hit_by) > 3 else ""
    found.append(f"hit {plural(told.hits, 'time')} before" + (f": {hits}{more}" if hits else ""))
    if told.copies:
        held = ", ".join(str(life) for life in told.copies[:5])
        found.append(f"its content stayed in the cache, in block {held}")
    found += _wants(told)
    return found + unknown(told.not_recorded)


def _queue(queue: Queue) -> list[str]:
    head = "nothing" if queue.head_content is None else f"content {queue.head_content}"
    place = "it was the head" if not queue.before else f"{queue.before} before it"
    going = f", {queue.taken} of them taken in this step too" if queue.before else ""
    over = f", {queue.passed_over} passed over" if queue.passed_over else ""
    found = [
        f"the free queue had {plural(queue.length, 'block')}: {place}{going}{over}",
        f"its head was block {queue.head}, which held {head}",
    ]
    behind = queue.empty - queue.empty_before
    if behind:
        found.append(
            f"{plural(behind, 'block')} behind it held no content: taking one would have lost nothing"
        )
    return found


def _wants(told: Eviction) -> list[str]:
    if not told.wanted_in_all:
        return [f"not wanted again up to record {told.through}"]
    found = [f"wanted again {plural(told.wanted_in_all, 'time')}:"]
    found += [f"  {_want(want)}" for want in told.wanted]
    if told.wanted_in_all > len(told.wanted):
        found.append(f"  … and {told.wanted_in_all - len(told.wanted)} more")
    return found


def _want(want: Want) -> str:
    where = "" if want.life is None else f" block {want.life}"
    if want.how == "hit":
        return f"hit by {who(want.who)} in{where} at {at(want.at)}"
    if want.how == "computed":
        return f"computed again by {who(want.who)} in{where} at {at(want.at)}, which missed a block before it"
    again = ", which resumed after a preemption" if want.resumed else ""
    done = "" if want.computed is None else f", computed again in{where} at {at(want.computed)}"
    return f"missed by {who(want.who)} at {at(want.at)}{again}{done}"


# -- why was this request preempted -------------------------------------------------------------------------------------


def _preemption(told: Preemption) -> list[str]:
    found = [f"{who(told.who)} was preempted at {at(told.at)}"]
    itself = told.asked.request == told.who.request
    if itself:
        found.append(
            f"it needed more blocks itself, and {were(told.free, f' of {told.pool}')} free: it was its own turn"
        )
    elif told.needs is None:
        found.append(
            f"for {who(told.asked)}, which got none in the end; {were(told.free, f' of {told.pool}')} free"
        )
    else:
        needs = plural(told.needs, "block")
        found.append(
            f"for {who(told.asked)}, which needed {needs}; {were(told.free, f' of {told.pool}')} free"
        )
    if told.others:
        found.append("for the same need: " + ", ".join(who(each) for each in told.others))
    back = f"{plural(told.freed, 'block')} came back, others hold {told.released} still"
    found.append(f"its tables had {plural(told.blocks, 'entry', 'entries')}: {back}")
    found.append("who ran, in the order in which they began" + _rule(told.policy) + ":")
    for each in told.running:
        mark = " (preempted here)" if each.who.request == told.who.request else ""
        found.append(f"  {_holder(each)}{mark}")
    found.append(f"{were(told.lost, ' computed token' if told.lost == 1 else ' computed tokens')} lost")
    times = len(told.earlier)
    if times:
        first = ", ".join(f"{at(each.at)} for {who(each.asked)}" for each in told.earlier[:3])
        found.append(f"preempted {plural(times, 'time')} before: {first}{', …' if times > 3 else ''}")
    if told.since is not None:
        again, gained = told.since.again, told.since.gained
        verdict = "it thrashes" if told.thrashing else "it does not thrash"
        found.append(f"since the last time it computed {again} tokens again and gained {gained}: {verdict}")
    return [*found, _after(told), *unknown(told.not_recorded)]


def _rule(policy: str | None) -> str:
    rules = {"fcfs": ": the last one goes first", "priority": ": the least urgent one goes first"}
    return rules.get(policy or "", "")


def _after(told: Preemption) -> str:
    after = told.after
    if after.at is None:
        return "it waits still at the recording's end"
    when = f"{plural(after.steps or 0, 'step')} later, at {at(after.at)}"
    if after.how != "resumed":
        return f"{after.how} {when}"
    hit = were(after.hit or 0, f" of {plural(after.tokens or 0, 'token')}")
    return f"resumed {when}: {hit} in the prefix cache still"


def _holder(told: Holder) -> str:
    return f"{who(told.who)} held {plural(told.blocks, 'block')}, {told.alone} of them alone"


# -- why does this request wait -----------------------------------------------------------------------------------------


def _wait(told: Wait) -> list[str]:
    since = (
        ""
        if told.since is None
        else f", {told.state} since {at(told.since)}: {plural(told.steps or 0, 'step')}"
    )
    found = [f"{who(told.who)} waits after step {told.step}{since}"]
    if told.ahead:
        more = ", …" if told.ahead_in_all > len(told.ahead) else ""
        before = ", ".join(who(each) for each in told.ahead)
        found.append(f"{plural(told.ahead_in_all, 'request')} before it: {before}{more}")
        if told.head_reason is not None:
            found.append(f"the first of them, {who(told.head)}, waits as {_reason(told.head_reason)}")
    else:
        found.append("it is the next one")
    if told.reason is not None:
        found.append(f"logged of it: {_reason(told.reason)}")
    else:
        found.append("no reason of its own was logged since")
    if told.preempted:
        names = ", ".join(who(each) for each in told.preempted)
        found.append(f"in this step {names} had to give blocks back: nobody is admitted in such a step")
    found.append(
        f"{are(told.free, f' of {told.pool} blocks')} free; {were(told.tokens, f' of {told.budget} tokens')} computed"
    )
    most = "" if told.max_num_seqs is None else f" of at most {told.max_num_seqs}"
    found.append(f"{plural(told.sequences, 'sequence')}{most} in" + (":" if told.running else " all"))
    found += [f"  {_holder(each)}" for each in told.running]
    return found + unknown(told.not_recorded)


def _reason(told: Reason) -> str:
    there = f" (step {told.at.step}, op {told.at.op})"
    if told.reason == "blocks":
        return f"it needs {plural(told.needs or 0, 'block')} and {were(told.free or 0)} free{there}"
    if told.reason == "fragmentation":
        largest = f"the largest run of {told.free} free has {told.largest}"
        return f"it needs {plural(told.needs or 0, 'block')} in one run, and {largest}{there}"
    if told.reason == "behind":
        return f"it stood behind {who(told.behind)}{there}"
    words = {"budget": "the step's tokens were used up", "max_num_seqs": "as many sequences ran as may"}
    return words.get(told.reason, told.reason) + there


# -- where the memory goes, and is anything leaking ---------------------------------------------------------------------


def _memory(told: Memory) -> list[str]:
    kinds = ", ".join(
        f"{figure(getattr(told, name))} {name}" for name in ("active", "shared", "cached", "free")
    )
    found = [f"after step {told.step} the pool's {plural(told.pool, 'block')} are: {kinds}"]
    if told.slots:
        share = 100 * told.unused / told.slots
        found.append(
            f"of {plural(told.slots, 'slot')} in use {are(told.unused)} not filled ({share:.1f} %), in "
            f"{plural(told.tails, 'block')}, {told.reserved} of them wholly"
        )
    if told.saving is not None:
        found.append(
            f"sharing saves {plural(told.saved, 'block')} of {figure(told.entries)} ({100 * told.saving:.1f} %)"
        )
    if told.duplicates:
        found.append(
            f"{plural(told.duplicates, 'block')} {'holds' if told.duplicates == 1 else 'hold'} content that another one holds too"
        )
    if told.pinned.pins:
        found.append(f"{plural(told.pinned.pins, 'pin')} on {plural(told.pinned.blocks, 'block')}")
    found += [f"  {_holder(each)}, {plural(each.unused, 'slot')} unused" for each in told.requests]
    return found


def _leaks(told: Leaks) -> list[str]:
    used = f"{are(told.used, f' of {told.pool} blocks')} in use after step {told.step}, {told.used_before} after step {told.baseline}"
    if not told.leaking:
        found = [f"nothing leaks: {used}, each for a request in the engine or by a pin"]
    else:
        old = told.leaking - told.new
        since = f"{told.new} of them not yet after step {told.baseline}" + (f", {old} already" if old else "")
        found = [f"{plural(told.leaking, 'block')} held for nobody, {since}", used]
        found += [f"  {_leak(each)}" for each in told.leaks]
    if told.pins:
        found.append(f"{plural(told.pins, 'pin')} of a foreign engine's")
    if told.violation is not None:
        found.append(f"folding finds a violation: {told.violation}")
    return found


def _leak(told: Leak) -> str:
    old = ", at the baseline already" if told.old else ""
    if told.how == "pin":
        return f"block {told.life}: the pin of a copy that was launched{old}"
    if told.how == "count":
        return f"block {told.life}: a count for which there is no entry and no pin{old}"
    whose = f"of sequence {told.sequence}" if told.who is None else f"of {who(told.who)}"
    return f"block {told.life}: entry {told.position} in a table {whose}, which is not in the engine{old}"
