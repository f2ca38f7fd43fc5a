"""Control of the engine's pace: held, stepped, up to a step, slowed; what can't be is said with the value."""

import time
from typing import Any

import pytest

from kvarium_engine.arguments import CommandError
from kvarium_engine.pace import Pace
from tests.engine.story import Story


def test_it_runs_to_a_step_and_is_held_behind_it() -> None:
    story = Story()
    for step in (3, 4, 11):
        assert story.ask("run_to", step=step) == {
            "held": True,
            "run_to": step,
            "step": story.engine.steps - 1,
        }
        story.go_on()
        assert story.engine.steps - 1 == step
        assert (story.control.pace.held, story.control.pace.run_to) == (True, None)
    with pytest.raises(CommandError, match=r"^step 11 has passed: the engine is at step 11$"):
        story.ask("run_to", step=11)


def test_a_hold_ends_a_run_to_a_step_and_the_steps_that_were_asked_for() -> None:
    for command, args in (("run_to", {"step": 40}), ("step", {"steps": 40})):
        story = Story()
        story.ask(command, **args)
        story.step()
        story.ask("hold")
        story.go_on()
        assert story.engine.steps == 1


def test_a_breakpoint_ends_them_too_and_the_next_command_lets_go_of_it() -> None:
    story = Story()
    story.ask("break", when="step:2 or step:4")
    for command, args, at in (("run_to", {"step": 40}, 2), ("step", {"steps": 40}, 4)):
        story.ask(command, **args)
        assert story.control.stop is None
        hit = story.go_on()
        assert hit is not None
        assert (hit.step, story.engine.steps - 1) == (at, at)
        assert not story.control.pace.may_step


def test_how_it_goes_is_told_once_for_each_change() -> None:
    story = Story()
    changes = [story.control.changes]
    for command, args in (("break", {"when": "step:3"}), ("run_to", {"step": 1})):
        story.ask(command, **args)
        changes.append(story.control.changes)
    story.go_on()
    changes.append(story.control.changes)
    story.ask("release")
    changes.append(story.control.changes)
    story.go_on()
    changes.append(story.control.changes)
    assert changes == [0, 1, 2, 3, 4, 5], "the end of a run and a stop are changes like a command"


def test_a_slowed_engine_steps_no_sooner_than_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    pace = Pace()
    assert pace.pause == 0
    pace.limit(4)
    assert pace.pause == 0, "the first step is due at once"
    pace.stepped(0)
    assert pace.pause == 0.25
    now += 0.1
    assert pace.pause == pytest.approx(0.15)
    now += 5
    assert pace.pause == 0
    pace.stepped(1)
    assert pace.pause == 0, "what was missed is not made up for by more than one step"
    pace.stepped(2)
    assert pace.pause == 0.25
    pace.limit(None)
    assert pace.pause == 0


@pytest.mark.parametrize(
    ("command", "args", "message"),
    [
        ("run_to", {}, "run_to needs step"),
        ("run_to", {"step": -1}, "step must be a whole number from 0 to"),
        ("run_to", {"step": "soon"}, "not 'soon'"),
        ("run_to", {"steps": 4}, "unknown argument 'steps': it takes step"),
        ("slow", {"rate": 0}, "rate must be from 0.01 to 1000000 steps a second, or null, not 0"),
        ("slow", {"rate": "fast"}, "rate must be a number, not 'fast'"),
        ("break", {}, "when must be a text that is not empty, not None"),
        ("break", {"when": "op:evcit"}, "the predicate can't be read at character 4: there is no operation 'evcit'; did you mean evict?"),
        ("break", {"when": "op:evict", "hits": 0}, "hits must be a whole number from 1 to"),
        ("break", {"when": "op:evict", "mark": 1}, "mark must be true or false, not 1"),
        ("unbreak", {}, "breakpoint must be the id of a breakpoint"),
        ("unbreak", {"breakpoint": 4}, "there is no breakpoint 4: none is set"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_refused_with_the_value(command: str, args: dict[str, Any], message: str) -> None:
    story = Story()
    with pytest.raises((CommandError, ValueError)) as caught:
        story.ask(command, **args)
    assert message in str(caught.value)
    assert (story.control.changes, story.control.breakpoints.told) == (0, [])
    assert story.control.pace.may_step
