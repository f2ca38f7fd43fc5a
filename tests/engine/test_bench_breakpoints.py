"""``kvarium bench breakpoints``: contenders that do the same, ten that cost something, and what is not here is null."""

import json
import time

import pytest
from typer import Typer
from typer.testing import CliRunner

from kvarium_engine.bench import breakpoints as bench
from kvarium_engine.bench.ledger_cost import Trial
from kvarium_engine.bench.steady_load import Load
from kvarium_engine.breakpoints.breakpoints import Breakpoints
from kvarium_engine.model.null_runner import NullRunner
from kvarium_ledger.filtering.predicates import read_predicate
from kvarium_ledger.ledger import SealedStep

TRIAL = Trial(400, Load(sequences=16, prompt=64, output=16), rounds=4, steps=4, warm_up=16)


def test_the_ten_are_of_all_kinds_that_need_no_mirror() -> None:
    fields = {
        each.field
        for when in bench.TEN
        for alternative in read_predicate(when).alternatives
        for each in alternative
    }
    assert len(bench.TEN) == 10
    assert fields >= {
        "op",
        "owner",
        "block",
        "cause",
        "seq",
        "decision",
        "usage",
        "free",
        "hit_rate",
        "waiting",
        "preempted",
    }


def test_what_is_looked_at_costs_and_what_is_not_set_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Breakpoints._look_at

    def slow(self: Breakpoints, step: SealedStep) -> None:
        until = time.thread_time() + 0.002
        while time.thread_time() < until:
            pass
        plain(self, step)

    monkeypatch.setattr(Breakpoints, "_look_at", slow)
    found = bench.compare(TRIAL, NullRunner)
    for name in ("ten", "mirror"):
        assert found[name]["us"]["p50"] > 2000, name
        assert found[name]["percent"] > found["none"]["percent"]
    for name in ("none", "again"):
        assert abs(found[name]["us"]["p50"]) < 2000, name


def test_the_command_prints_one_object_with_null_for_what_is_not_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(bench.SIZES, "small", (TRIAL, TRIAL))
    app = Typer()
    bench.add(app)
    done = CliRunner().invoke(app, ["--size", "small", "--model", "no such model", "--json"])
    assert done.exit_code == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["none_percent"], facts["ten_percent"], facts["model"]) == (None, None, None)
    assert facts["ten_us_256"] == facts["steps"]["ten"]["us"]["p50"]
    assert "kvarium bench breakpoints: model is null: " in done.stderr
    shown = bench.table(facts)
    assert "no model, 16 sequences" in shown
    assert len(shown.splitlines()) == 6
