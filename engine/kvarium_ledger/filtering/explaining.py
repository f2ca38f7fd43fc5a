"""What is wrong with a filter or a predicate, in words."""

from collections.abc import Sequence

from kvarium_ledger.filtering.terms import FIELDS, Fault

_WHAT = {"op": "operation", "decision": "decision", "cause": "cause"}
_EXAMPLES = {
    "usage": "usage>0.9",
    "free": "free<8",
    "hit_rate": "hit_rate<0.2",
    "waiting": "waiting>2s",
    "preempted": "preempted>2",
}


def explain(fault: Fault, what: str = "filter", fields: Sequence[str] = FIELDS) -> str:
    """A sentence that names the character (from 1), what stands there, and what may."""
    return f"the {what} can't be read at character {fault.at + 1}: {reason(fault, what, fields)}"


def reason(fault: Fault, what: str = "filter", fields: Sequence[str] = FIELDS) -> str:
    """What stands at the fault's character, and what may: for who tells by itself where that is."""
    meant = "" if fault.nearest is None else f"; did you mean {fault.nearest}?"
    return _why(fault, what, fields) + meant


def _why(fault: Fault, what: str, fields: Sequence[str]) -> str:
    said = repr(fault.said)
    match fault.why:
        case "field":
            return f"there is no field {said}; a {what} knows {', '.join(fields)}"
        case "name":
            return f"there is no {_WHAT[str(fault.field)]} {said}"
        case "number":
            return f"{said} is no number, and no range of them (3, 3..9, 3.., ..9)"
        case "time":
            return f"{said} is no time (12.5s, 3m, +1:02, 14:03:10)"
        case "order":
            return f"{said} ends before it begins"
        case "generation":
            return f"{said}: only a single block has a generation (42#3)"
        case "empty":
            return "a value is missing" if what == "filter" or fault.field else "a condition is missing"
        case "quote":
            return 'a quote stands around the whole of a value, or is written as \\"'
        case "open":
            return "this quote is not closed"
        case "condition":
            return f"{said} is no condition"
        case "comparison":
            return f"{fault.field} is compared: {_EXAMPLES[str(fault.field)]}"
        case "share":
            return f"{said} is no share (0.9, 90%)"
        case "count":
            return f"{said} is no whole number"
        case "duration":
            return f"{said} is no time with its unit (250ms, 2s, 3m)"
        case "hex":
            return f"{said} is no beginning of a hash (its hexadecimal digits, at most 64)"
        case "parenthesis":
            return "this parenthesis has no other"
        case "never":
            return f"{said} and {fault.field} never hold of one event"
        case "always":
            return f"{said} always holds"
        case "many":
            return "it has too many alternatives: set several breakpoints"
        case "deep":
            return "its parentheses stand too deep in each other: set several breakpoints"
        case _:
            return "it is longer than any may be"


def caret(text: str, fault: Fault) -> str:
    """Two lines for a terminal: the text, and a mark below what can't be read."""
    shown = "".join(sign if sign.isprintable() else " " for sign in text)
    return f"  {shown}\n  {' ' * fault.at}{'^' * max(1, fault.end - fault.at)}"
