"""What the check found, as JSON, as a table for a person, and as the section of ``docs/gpu.md``."""

import time
from collections.abc import Sequence
from typing import Any

from kvarium_engine.bench.columns import columns
from kvarium_engine.gpu_check.supervisor import Told

MARK = {"passed": "ok", "failed": "FAILED", "skipped": "not run"}


def report(ended: Sequence[Told], seconds: float) -> dict[str, Any]:
    """All of it by name: the device, the figures that matter, and every part."""
    facts = {told["name"]: told["facts"] for told in ended}
    environment = facts.get("environment", {})
    return {
        "ok": all(told["state"] != "failed" for told in ended),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "seconds": round(seconds, 1),
        "device": environment.get("card") or environment.get("device"),
        "figures": figures(facts),
        "parts": list(ended),
    }


def figures(facts: dict[str, Any]) -> dict[str, Any]:
    """The figures that matter; None where a part did not come so far."""
    loads = facts.get("decode_bandwidth", {}).get("loads", [])
    batches = facts.get("step_time", {}).get("batches", [])
    made = facts.get("throughput", {}) | facts.get("continuous_batching", {})
    return {
        "decode_bandwidth_share": max((load["share"] for load in loads), default=None),
        "step_ms": {
            str(told["batch"]): {
                "eager": told["eager_ms"],
                "graphs": told["graphs_ms"],
                "bound": told["bound_ms"],
            }
            for told in batches
        },
        "ledger_percent": facts.get("ledger_cost", {}).get("step_percent"),
        "ledger_us_per_step": facts.get("ledger_cost", {}).get("us_per_step"),
        "tokens_per_s": {name: made.get(name) for name in ("kvarium", "generate", "continuous_batching")},
    }


def table(found: dict[str, Any]) -> str:
    """For a person: a line a part, then the figures."""
    rows = [
        [told["name"], MARK[told["state"]], f"{told['seconds']:.1f} s", told.get("why") or in_short(told)]
        for told in found["parts"]
    ]
    verdict = "nothing is wrong" if found["ok"] else "something is WRONG"
    return "\n".join(
        [
            f"kvarium gpu-check on {found['device'] or 'an unknown device'}: {verdict}, {found['seconds']:.0f} s",
            "",
            *columns(rows, left=4),
            *(["", *lines] if (lines := figure_lines(found["figures"])) else []),
        ]
    )


def in_short(told: Told) -> str:
    """What a part that passed has checked, in a few words."""
    facts = told["facts"]
    cases = facts.get("cases")
    if isinstance(cases, list):
        worst = max((case["error"] / case["allowed"] for case in cases), default=0.0)
        left_out = f", {facts['left_out']} left out for want of time" if facts["left_out"] else ""
        return f"{len(cases)} cases, the worst at {100 * worst:.0f} % of what rounding explains{left_out}"
    if isinstance(cases, int):
        return f"{cases} cases, the same to the bit"
    if "models" in facts:
        equal, asked = (sum(model[name] for model in facts["models"]) for name in ("equal", "answers"))
        return f"{equal} of {asked} answers the same tokens as transformers'"
    if "tokens" in facts:
        return f"{facts['tokens']} tokens the same as transformers'"
    return ""


def figure_lines(told: dict[str, Any]) -> list[str]:
    """The figures that are there, a line each."""
    lines = []
    if told["decode_bandwidth_share"] is not None:
        lines.append(
            f"decode attention reaches {100 * told['decode_bandwidth_share']:.0f} % of a copy's bandwidth"
        )
    for batch, step in told["step_ms"].items():
        graphs = "" if step["graphs"] is None else f", with CUDA graphs {step['graphs']:.2f} ms"
        bound = "" if step["bound"] is None else f"; a copy of as many bytes {step['bound']:.2f} ms"
        lines.append(f"a step of {batch}: {step['eager']:.2f} ms{graphs}{bound}")
    if told["ledger_percent"] is not None:
        lines.append(
            f"the ledger: {told['ledger_us_per_step']:,.0f} µs a step, {told['ledger_percent']:.2f} % of it"
        )
    rates = {name: rate for name, rate in told["tokens_per_s"].items() if rate is not None}
    if rates:
        lines.append("tokens a second: " + ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items()))
    return lines


def markdown(found: dict[str, Any]) -> str:
    """The same as a section of a document."""
    environment: dict[str, Any] = next(
        (told["facts"] for told in found["parts"] if told["name"] == "environment"), {}
    )
    versions = ", ".join(
        f"{name} {environment[name]}"
        for name in ("driver", "cuda", "torch", "triton", "transformers", "python")
        if environment.get(name)
    )
    lines = [
        f"## {found['device'] or 'an unknown device'}, {found['date']}",
        "",
        f"`kvarium gpu-check`, {found['seconds']:.0f} s; {versions}.",
        "",
        "| part | | seconds | |",
        "| --- | --- | ---: | --- |",
        *(
            f"| {told['name']} | {MARK[told['state']]} | {told['seconds']:.1f} | {cell(told.get('why') or in_short(told))} |"
            for told in found["parts"]
        ),
    ]
    if figured := figure_lines(found["figures"]):
        lines += ["", *(f"- {line}" for line in figured)]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Text within a table of Markdown."""
    return " ".join(text.split()).replace("|", "\\|")
