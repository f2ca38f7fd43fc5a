"""What is wrong with a filter, in words."""

from kvarium.filtering.terms import FIELDS, Fault

_WHAT = {"op": "operation", "decision": "decision", "cause": "cause"}


def explain(fault: Fault) -> str:
    """A sentence that names the character (from 1), what stands there, and what may."""
    said = repr(fault.said)
    match fault.why:
        case "field":
            what = f"there is no field {said}; a filter knows {', '.join(FIELDS)}"
        case "name":
            what = f"there is no {_WHAT[str(fault.field)]} {said}"
        case "number":
            what = f"{said} is no number, and no range of them (3, 3..9, 3.., ..9)"
        case "time":
            what = f"{said} is no time (12.5s, 3m, +1:02, 14:03:10)"
        case "order":
            what = f"{said} ends before it begins"
        case "generation":
            what = f"{said}: only a single block has a generation (42#3)"
        case "empty":
            what = "a value is missing"
        case "quote":
            what = 'a quote stands around the whole of a value, or is written as \\"'
        case _:
            what = "this quote is not closed"
    meant = "" if fault.nearest is None else f"; did you mean {fault.nearest}?"
    return f"the filter can't be read at character {fault.at + 1}: {what}{meant}"
