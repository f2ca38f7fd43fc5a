"""Commands: carried out between steps, recorded, answered; what they can't do is said with the value."""

import math
from typing import Any

import pytest

from kvarium_engine.arguments import MOST_PROMPT_BYTES
from kvarium_engine.conversation import next_turn
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.steering import SUBMIT_ARGUMENTS, Steering
from kvarium_engine.vocabulary import Message
from kvarium_ledger.messages import Answer, Command
from kvarium_ledger.records import Control
from tests.engine.chatml import ChatML, ChatRunner
from tests.engine.mirrored import Mirrored


def steered(allow_control: bool = True, runner: NullRunner | None = None) -> tuple[Mirrored, Steering]:
    engine = Mirrored(runner=runner)
    return engine, Steering(engine.engine, allow_control)


def ask(steering: Steering, command: str, /, **args: Any) -> Answer:
    return steering.carry_out(Command(id="c1", name=command, args=args, asked_by="me"))


def test_a_submitted_request_runs_and_the_command_is_recorded_before_its_step() -> None:
    engine, steering = steered()
    answer = ask(steering, "submit", prompt_tokens=40, max_tokens=3, n=2, name="mine", priority=1)
    assert answer.error is None
    assert answer.result == {"request": 0, "name": "mine", "refused": False, "prompt_tokens": 40}
    engine.run()
    control = engine.records[1]
    assert isinstance(control, Control)
    assert (control.id, control.name, control.asked_by, control.error) == ("c1", "submit", "me", None)
    assert control.args == {
        "prompt_tokens": 40,
        "max_tokens": 3,
        "n": 2,
        "name": "mine",
        "priority": 1,
        "request": 0,
    }


def test_a_text_is_a_prompt_and_equal_beginnings_of_texts_share_blocks() -> None:
    engine, steering = steered()
    for end in ("to be", "not to be"):
        assert ask(steering, "submit", prompt="Once upon a time, there was a girl. " + end).error is None
    engine.step()
    assert engine.operations(engine.last)["share", "prefix_hit"] == 2
    [first, _] = next(sealed for sealed in engine.sealed if hasattr(sealed, "prompts")).prompts
    assert first.text == "Once upon a time, there was a girl. to be"


def test_the_text_of_a_prompt_does_not_stand_in_the_control_record() -> None:
    engine, steering = steered()
    ask(steering, "submit", prompt="a secret")
    ask(steering, "submit", prompt_tokens=[1, 2, 3])
    engine.step()
    assert [record.args for record in engine.records if isinstance(record, Control)] == [
        {"prompt_length": 8, "request": 0},
        {"prompt_tokens_length": 3, "request": 1},
    ]


def test_a_shared_prefix_can_be_asked_for() -> None:
    engine, steering = steered()
    for _ in range(2):
        ask(steering, "submit", prompt_tokens=10, prefix_tokens=32, prefix_seed=5)
    engine.step()
    assert engine.operations(engine.last)["share", "prefix_hit"] == 2


def test_a_refused_request_says_so() -> None:
    _, steering = steered()
    assert ask(steering, "submit", prompt_tokens=5000).result["refused"] is True


def test_a_request_is_aborted_by_name_or_number() -> None:
    engine, steering = steered()
    ask(steering, "submit", prompt_tokens=10, name="x")
    ask(steering, "submit", prompt_tokens=10)
    engine.step()
    assert ask(steering, "abort", request="x").result == {"request": 0, "name": "x"}
    assert ask(steering, "abort", request=1).error is None
    assert ask(steering, "abort", request=1).error == "there is no request 1 in the engine"
    engine.step()
    engine.assert_nothing_leaks()


def test_the_prefix_cache_is_reset_when_no_block_is_in_use_and_the_command_is_recorded() -> None:
    engine, steering = steered(allow_control=False)
    for name in ("a", "b"):
        assert ask(steering, "submit", prompt_tokens=40, max_tokens=9, name=name).error is None
    engine.step()
    refused = ask(steering, "reset_prefix_cache")
    assert refused.error == "6 of 64 blocks are in use: the prefix cache is reset only while none is"
    engine.run()
    assert ask(steering, "reset_prefix_cache").result == {"blocks": 6}
    assert ask(steering, "reset_prefix_cache").result == {"blocks": 0}
    engine.step()
    assert engine.operations(engine.last) == {("evict", "reset"): 6}
    controls = [record for record in engine.records if isinstance(record, Control)]
    assert [record.error for record in controls if record.name == "reset_prefix_cache"] == [
        refused.error,
        None,
        None,
    ]
    assert engine.fold.usage().cached == 0
    assert ask(steering, "reset_prefix_cache", now=True).error == "unknown argument 'now': it takes none"


def test_a_held_engine_may_take_only_the_steps_that_are_asked_for() -> None:
    engine, steering = steered()
    assert steering.control.pace.may_step
    assert ask(steering, "hold").result == {"held": True, "step": -1}
    assert not steering.control.pace.may_step
    assert ask(steering, "step", steps=2).error is None
    for _ in range(2):
        assert steering.control.pace.may_step
        engine.step()
        steering.control.stepped()
    assert not steering.control.pace.may_step
    assert ask(steering, "submit", prompt_tokens=4).error is None, "a held engine still answers"
    assert ask(steering, "release").result == {"held": False, "step": 1}
    assert steering.control.pace.may_step


@pytest.mark.parametrize("name", ["hold", "release", "step", "run_to", "slow", "break", "unbreak", "enable"])
def test_control_has_to_be_allowed(name: str) -> None:
    engine, steering = steered(allow_control=False)
    answer = ask(steering, name)
    assert answer.error is not None
    assert "does not allow control" in answer.error
    assert steering.control.pace.may_step
    engine.mirror()
    assert engine.records[-1].error == answer.error  # type: ignore[union-attr]


def test_a_keyframe_comes_when_it_is_asked_for() -> None:
    engine, steering = steered(allow_control=False)
    assert ask(steering, "keyframe").result == {"step": -1}
    assert engine.mirror() == []
    assert [type(record).__name__ for record in engine.records] == ["Keyframe", "Keyframe", "Control"]


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("fly", {}, "there is no command 'fly': it is one of submit, abort"),
        ("submit", {}, "give either prompt"),
        ("submit", {"prompt": "x", "prompt_tokens": 3}, "give either prompt"),
        ("submit", {"prompt": ""}, "prompt must be a text that is not empty"),
        ("submit", {"prompt": 5}, "prompt must be a text that is not empty, not 5"),
        ("submit", {"prompt_tokens": 0}, "prompt_tokens must be a whole number from 1 to 1048576, not 0"),
        ("submit", {"prompt_tokens": 1.5}, "not 1.5"),
        ("submit", {"prompt_tokens": []}, "prompt_tokens must hold token ids"),
        ("submit", {"prompt_tokens": [-1]}, "prompt_tokens must hold token ids"),
        ("submit", {"prompt_tokens": 4, "n": 99}, "n must be a whole number from 1 to 64, not 99"),
        ("submit", {"prompt_tokens": 4, "n": True}, "not True"),
        ("submit", {"prompt_tokens": 4, "n": 60}, "n = 60 is more than max_num_seqs = 32"),
        ("submit", {"prompt_tokens": 4, "temperature": -2}, "temperature must not be negative, it is -2.0"),
        ("submit", {"prompt_tokens": 4, "temperature": "hot"}, "temperature must be a number, not 'hot'"),
        (
            "submit",
            {"prompt_tokens": 4, "temperature": math.nan},
            "temperature must be a finite number, not nan",
        ),
        (
            "submit",
            {"prompt_tokens": 4, "colour": 1},
            f"unknown argument 'colour': it takes {', '.join(SUBMIT_ARGUMENTS)}",
        ),
        ("submit", {"prompt_tokens": 4, "ignore_eos": 1}, "ignore_eos must be true or false, not 1"),
        ("submit", {"prompt_tokens": 4, "name": 7}, "name must be a text"),
        ("submit", {"prompt_tokens": 4, "stop": 7}, "stop must be a text or a list of texts, not 7"),
        (
            "submit",
            {"prompt_tokens": 4, "stop": ["a", 7]},
            "stop must be a text or a list of texts, not ['a', 7]",
        ),
        ("submit", {"prompt_tokens": 4, "stop": ""}, "a stop string has from 1 to 1000 characters, not 0"),
        ("submit", {"prompt_tokens": 4, "stop": ["x"] * 65}, "stop has 65 entries: at most 64 are taken"),
        (
            "submit",
            {"prompt_tokens": 4, "stop_token_ids": 7},
            "stop_token_ids must be a list of token ids, not 7",
        ),
        (
            "submit",
            {"prompt_tokens": 4, "stop_token_ids": [-1]},
            "stop_token_ids must hold token ids, not -1",
        ),
        (
            "submit",
            {"prompt_tokens": 4, "stop_token_ids": ["x"]},
            "stop_token_ids must hold token ids, not 'x'",
        ),
        (
            "submit",
            {"prompt_tokens": 4, "min_tokens": 17},
            "min_tokens must be from 0 to max_tokens = 16, not 17",
        ),
        ("submit", {"prompt_tokens": 4, "min_p": 1.5}, "min_p must be from 0 to 1 (0: off), not 1.5"),
        (
            "submit",
            {"prompt_tokens": 4, "repetition_penalty": 0},
            "repetition_penalty must be from 0.001 to 1000 (1: off), not 0.0",
        ),
        (
            "submit",
            {"prompt_tokens": 4, "presence_penalty": 3},
            "presence_penalty must be from -2 to 2 (0: off), not 3.0",
        ),
        (
            "submit",
            {"prompt_tokens": 4, "frequency_penalty": -2.5},
            "frequency_penalty must be from -2 to 2 (0: off), not -2.5",
        ),
        (
            "submit",
            {"prompt_tokens": 4, "logit_bias": [1]},
            "logit_bias must be a number for each token id, not [1]",
        ),
        (
            "submit",
            {"prompt_tokens": 4, "logit_bias": {"x": 1}},
            "logit_bias must have token ids as its names, not 'x'",
        ),
        (
            "submit",
            {"prompt_tokens": 4, "logit_bias": {"5": 101}},
            "logit_bias of token 5 must be from -100 to 100, not 101.0",
        ),
        (
            "submit",
            {"prompt_tokens": 4, "logprobs": 21},
            "logprobs must be a whole number from 0 to 20, not 21",
        ),
        ("submit", {"prompt_tokens": 4, "logprobs": 2}, "the null runner has no logits: leave logprobs out"),
        (
            "submit",
            {"prompt": "x" * (MOST_PROMPT_BYTES + 1)},
            "prompt has 1,048,577 bytes: at most 1,048,576",
        ),
        ("submit", {"prompt": "x", "chat": "yes"}, "chat must be true or false, not 'yes'"),
        ("submit", {"prompt": "x", "chat": True}, "the model 'none' has no chat template: leave chat out"),
        ("submit", {"prompt": "x", "system": "y"}, "system belongs to a conversation: give chat = true"),
        ("submit", {"prompt": "x", "follow": "a"}, "follow belongs to a conversation: give chat = true"),
        (
            "submit",
            {"prompt_tokens": 4, "chat": True},
            "with chat, give prompt (what the user says), not prompt_tokens",
        ),
        ("submit", {"prompt": "x", "prefix_tokens": 4, "chat": True}, "not prefix_tokens"),
        ("abort", {}, "request must be a request's name or number, not None"),
        ("abort", {"request": "nobody"}, "there is no request 'nobody' in the engine"),
        ("step", {"steps": 0}, "steps must be a whole number from 1 to 1000000, not 0"),
        ("hold", {"long": True}, "unknown argument 'long': it takes none"),
    ],
)
def test_what_can_not_be_is_answered_with_the_value_and_changes_nothing(
    name: str, args: dict[str, Any], message: str
) -> None:
    engine, steering = steered()
    answer = ask(steering, name, **args)
    assert answer.error is not None
    assert message in answer.error
    assert not engine.roster.requests
    assert not engine.engine.ledger.pending
    assert steering.control.pace.may_step


def test_the_list_of_submits_arguments_is_the_whole_of_what_it_reads() -> None:
    given = {
        "prompt_tokens": 4, "prefix_tokens": 8, "prefix_seed": 1, "max_tokens": 2, "n": 2, "temperature": 0.5, "top_k": 3,
        "top_p": 0.9, "seed": 5, "ignore_eos": True, "priority": 1, "name": "a", "min_p": 0.1, "stop": ["x", "yz"],
        "stop_token_ids": [7, 9], "min_tokens": 1, "repetition_penalty": 1.2, "presence_penalty": 0.5,
        "frequency_penalty": -0.5, "logit_bias": {"5": -3, "6": 2.5}, "lora_name": "sql", "cache_salt": "pepper",
    }  # fmt: skip
    beams = {"beam_width": 4, "length_penalty": 0.5, "early_stopping": "never"}
    assert {*given, *beams, "prompt", "chat", "system", "follow", "logprobs"} == set(SUBMIT_ARGUMENTS)
    engine, steering = steered()
    assert ask(steering, "submit", **given).error is None
    request = engine.roster.find("a")
    assert request is not None
    params = request.params
    assert (request.prompt_tokens, request.priority) == (12, 1)
    assert (params.max_tokens, params.n, params.temperature, params.top_k, params.top_p) == (
        2,
        2,
        0.5,
        3,
        0.9,
    )
    assert (params.seed, params.ignore_eos) == (5, True)
    assert (params.stop, params.stop_token_ids, params.min_tokens) == (("x", "yz"), (7, 9), 1)
    penalties = params.repetition_penalty, params.presence_penalty, params.frequency_penalty
    assert (penalties, params.min_p, params.logit_bias) == ((1.2, 0.5, -0.5), 0.1, {5: -3, 6: 2.5})
    assert ask(steering, "submit", prompt_tokens=4, n=3, **beams, name="b").error is None
    params = engine.roster.requests[1].params
    assert (params.beam_width, params.n, params.length_penalty, params.early_stopping) == (4, 3, 0.5, "never")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"beam_width": 1}, "beam_width must be a whole number from 2 to 64, not 1"),
        ({"beam_width": 33}, "beam_width = 33 is more than max_num_seqs = 32"),
        ({"beam_width": 2, "n": 3}, "n = 3 answers are more than beam_width = 2 can give"),
        (
            {"beam_width": 2, "early_stopping": "now"},
            "early_stopping must be false, true or \"never\", not 'now'",
        ),
        ({"beam_width": 2, "length_penalty": 5}, "length_penalty must be from -4 to 4 (0: off), not 5.0"),
        ({"length_penalty": 2}, "length_penalty and early_stopping belong to a beam search: give beam_width"),
        (
            {"early_stopping": True},
            "length_penalty and early_stopping belong to a beam search: give beam_width",
        ),
        (
            {"beam_width": 2, "temperature": 0.7},
            "a beam search draws nothing: leave temperature out (it is 0.7)",
        ),
        ({"beam_width": 2, "top_k": 5}, "a beam search draws nothing: leave top_k out (it is 5)"),
        ({"beam_width": 2, "top_p": 0.5}, "a beam search draws nothing: leave top_p out (it is 0.5)"),
        ({"beam_width": 2, "min_p": 0.5}, "a beam search draws nothing: leave min_p out (it is 0.5)"),
        ({"beam_width": 2, "seed": 0}, "a beam search draws nothing: leave seed out (it is 0)"),
        (
            {"beam_width": 2, "stop": "x"},
            "a beam search does not take stop: leave it out; give stop_token_ids",
        ),
        (
            {"beam_width": 2, "presence_penalty": 1},
            "a beam search does not take presence_penalty: leave it out",
        ),
        (
            {"beam_width": 2, "frequency_penalty": 1},
            "a beam search does not take frequency_penalty: leave it out",
        ),
        ({"beam_width": 2, "logprobs": 0}, "a beam search does not take logprobs: leave it out"),
    ],
)
def test_what_a_beam_search_can_not_take_is_refused_by_name(args: dict[str, Any], message: str) -> None:
    engine, steering = steered()
    assert ask(steering, "submit", prompt_tokens=4, **args).error == message
    assert not engine.roster.requests


def test_a_conversation_goes_on_from_the_best_answer_of_a_beam_search() -> None:
    engine, steering = steered()
    assert ask(steering, "submit", prompt_tokens=4, beam_width=3, max_tokens=5, name="b").error is None
    request = engine.roster.find("b")
    assert request is not None
    engine.run()
    assert list(request.told) == list(request.prompt) + list(request.hypotheses[0].tokens)
    assert len(request.told) == 4 + 5


def test_stops_are_recorded_by_how_many_they_are_and_one_text_is_a_list_of_one() -> None:
    engine, steering = steered()
    assert ask(steering, "submit", prompt_tokens=4, stop="the end", stop_token_ids=[7]).error is None
    assert engine.roster.requests[0].params.stop == ("the end",)
    engine.step()
    [control] = [record for record in engine.records if isinstance(record, Control)]
    assert control.args == {"prompt_tokens": 4, "stop_length": 7, "stop_token_ids_length": 1, "request": 0}


class _Wordless(NullRunner):
    vocabulary = None
    vocab_size = 500


def test_what_a_model_without_tokenizer_can_not_do_is_refused() -> None:
    _, steering = steered(runner=_Wordless())
    assert ask(steering, "submit", prompt_tokens=4, stop="x").error == (
        "stop strings need text, and this engine's model has no tokenizer: give stop_token_ids"
    )
    for args in ({"stop_token_ids": [3, 500]}, {"logit_bias": {"500": 1}}):
        [name] = args
        error = f"{name} holds 500: this model knows tokens below 500"
        assert ask(steering, "submit", prompt_tokens=4, **args).error == error


@pytest.mark.parametrize("more", [{}, {"beam_width": 2}, {"n": 2, "ignore_eos": True}])
def test_min_tokens_must_leave_a_token_to_sample(more: dict[str, Any]) -> None:
    runner = NullRunner()
    runner.vocab_size = 3
    runner.eos_tokens = frozenset({2, 7})
    engine, steering = steered(runner=runner)
    asked = {"prompt_tokens": 4, "min_tokens": 2, "max_tokens": 3, **more}
    assert ask(steering, "submit", stop_token_ids=[0, 1, 0], **asked).error == (
        "min_tokens = 2 bars the end tokens and stop_token_ids from the first tokens, and they are all 3 that this model has: "
        "nothing would be left to sample"
    )
    assert engine.engine.idle
    assert ask(steering, "submit", stop_token_ids=[0, 0, 0], **asked).error is None
    assert ask(steering, "submit", stop_token_ids=[0, 1], **{**asked, "min_tokens": 0}).error is None


def test_only_tokens_that_the_model_knows_come_to_it() -> None:
    runner = NullRunner()
    runner.vocab_size = 500
    engine, steering = steered(runner=runner)
    assert ask(steering, "submit", prompt_tokens=200, prefix_tokens=100, name="a").error is None
    request = engine.roster.find("a")
    assert request is not None
    assert max(request.prompt) < 500
    assert ask(steering, "submit", prompt_tokens=[1, 499]).error is None
    assert ask(steering, "submit", prompt_tokens=[1, 500]).error == (
        "prompt_tokens holds 500: this model knows tokens below 500"
    )


# -- conversations ------------------------------------------------------------------------------------------------------


def chatting() -> tuple[Mirrored, Steering]:
    return steered(runner=ChatRunner())


def test_a_turn_goes_through_the_models_template_and_its_text_is_what_was_typed() -> None:
    engine, steering = chatting()
    expected = ChatML().chat([Message("system", "Be brief."), Message("user", "Why?")])
    answer = ask(steering, "submit", prompt="Why?", chat=True, system="Be brief.", name="a", max_tokens=3)
    assert answer.error is None
    assert answer.result["prompt_tokens"] == len(expected)
    request = engine.roster.find("a")
    assert request is not None
    assert request.prompt.tolist() == expected
    engine.run()
    [prompt] = [prompt for sealed in engine.sealed if hasattr(sealed, "prompts") for prompt in sealed.prompts]
    assert prompt.text == "Why?"
    [control] = [record for record in engine.records if isinstance(record, Control)]
    assert control.args == {
        "prompt_length": 4, "chat": True, "system_length": 9, "name": "a", "max_tokens": 3, "request": 0,
    }  # fmt: skip


@pytest.mark.parametrize("by", ["a", 0, "0"])
def test_a_conversation_goes_on_behind_its_own_tokens_and_hits_their_blocks(by: str | int) -> None:
    engine, steering = chatting()
    ask(steering, "submit", prompt="Tell me why.", chat=True, name="a", max_tokens=24, n=2, ignore_eos=True)
    engine.run()
    ended = engine.roster.find_ended("a")
    assert ended is not None
    assert ended.first is not None
    earlier = ended.first.tokens.tolist()
    answer = ask(steering, "submit", prompt="And then?", chat=True, follow=by, name="b")
    assert answer.error is None
    request = engine.roster.find("b")
    assert request is not None
    assert request.prompt.tolist() == [*earlier, *next_turn(ChatML(), "And then?")]
    engine.step()
    assert engine.operations(engine.last)["reuse", "prefix_hit"] == (len(earlier) - 1) // 16


def test_the_first_sequence_is_followed_also_when_it_ended_before_the_others() -> None:
    engine, steering = chatting()
    ask(steering, "submit", prompt="Why?", chat=True, name="a", max_tokens=20, n=3)
    engine.step()
    request = engine.roster.find("a")
    assert request is not None
    first = request.live[0]
    engine.roster.drop_sequence(first)
    engine.run()
    ask(steering, "submit", prompt="Oh.", chat=True, follow="a", name="b")
    following = engine.roster.find("b")
    assert following is not None
    assert following.prompt[: first.length] == first.tokens


def test_an_aborted_answer_can_be_followed_as_far_as_it_came() -> None:
    engine, steering = chatting()
    ask(steering, "submit", prompt="Why?", chat=True, name="a", max_tokens=20, ignore_eos=True)
    engine.step(4)
    ask(steering, "abort", request="a")
    assert ask(steering, "submit", prompt="Shorter!", chat=True, follow="a").error is None


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            {"follow": "nobody"},
            "there is no request 'nobody' to follow: the last 64 that have run are remembered",
        ),
        ({"follow": 77}, "there is no request 77 to follow"),
        ({"follow": True}, "follow must be a request's name or number, not True"),
        ({"follow": "b"}, "request 'b' has not ended: follow it when it has, or abort it first"),
        ({"follow": "a", "system": "x"}, "keeps its system prompt: give system or follow, not both"),
        ({"system": 5}, "system must be a text that is not empty, not 5"),
        ({"system": ""}, "system must be a text that is not empty"),
    ],
)
def test_a_conversation_that_can_not_go_on_says_why(args: dict[str, Any], message: str) -> None:
    engine, steering = chatting()
    ask(steering, "submit", prompt="Why?", chat=True, name="a", max_tokens=1)
    engine.run()
    ask(steering, "submit", prompt="Why?", chat=True, name="b", max_tokens=9)
    answer = ask(steering, "submit", prompt="Go on.", chat=True, **args)
    assert answer.error is not None
    assert message in answer.error
    assert len(engine.roster.requests) == 1


def test_only_the_last_64_are_remembered() -> None:
    engine, steering = chatting()
    for number in range(66):
        ask(steering, "submit", prompt="Why?", chat=True, name=f"c{number}", max_tokens=1)
        engine.run()
    assert ask(steering, "submit", prompt="Go on.", chat=True, follow="c1").error is not None
    assert ask(steering, "submit", prompt="Go on.", chat=True, follow="c2").error is None
