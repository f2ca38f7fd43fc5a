"""Findings as lines to read, for a terminal."""

from kvarium.findings.answer import Evidence, Findings, Setting
from kvarium.terminal import figure, shown
from kvarium.why.words import at, plural, unknown, who


def lines(told: Findings) -> list[str]:
    """All findings in words, each with its thresholds, what to change, and where to look."""
    read = f"in {plural(told.steps, 'step')}, {plural(told.operations, 'operation')}, up to record {told.through}"
    if not told.findings:
        kinds = ", ".join(each.kind for each in told.looked_for)
        return [f"nothing found {read}; looked for: {kinds}", *unknown(told.not_recorded)]
    found = [f"{plural(len(told.findings), 'finding')} {read}"]
    for number, each in enumerate(told.findings, 1):
        found += ["", f"{number}. {shown(each.told, 500)}"]
        if each.fault is not None:
            found.append(f"   a cause of: {each.fault}")
        limits = ", ".join(f"{name} {value}" for name, value in each.thresholds.items())
        found.append(f"   found from: {limits}")
        found += [f"   change {_setting(setting)}" for setting in each.settings]
        found += [f"   - {_evidence(evidence)}" for evidence in each.evidence]
        if each.in_all > len(each.evidence):
            found.append(f"   {figure(len(each.evidence))} of {figure(each.in_all)}")
    return found + ([""] if told.not_recorded else []) + unknown(told.not_recorded)


def _setting(setting: Setting) -> str:
    now = "" if setting.now is None else f" (now {shown(str(setting.now))})"
    return f"{setting.name}{now}: {setting.advice}"


def _evidence(evidence: Evidence) -> str:
    subject = []
    if evidence.who is not None:
        subject.append(who(evidence.who))
    if evidence.life is not None:
        subject.append(f"block {evidence.life}")
    named = ", ".join(subject)
    place = "" if evidence.at is None else f" ({at(evidence.at)})"
    more = "" if evidence.link is None else f"; {evidence.link} tells more"
    return f"{named}{': ' if named else ''}{shown(evidence.told, 300)}{place}{more}"
