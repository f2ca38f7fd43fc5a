"""Conversations with the real model's tokenizer and template: what goes on behind an answer is what the template writes."""

from array import array
from pathlib import Path

import pytest

from kvarium_engine.conversation import continuation, opening
from kvarium_engine.errors import UsageError
from kvarium_engine.model.tokenizer import Tokenizer, load_tokenizer
from kvarium_engine.vocabulary import Message
from kvarium_engine.workload.demo_prompts import prompts


@pytest.fixture(scope="module")
def tokenizer(smollm2: Path) -> Tokenizer:
    found = load_tokenizer(smollm2)
    assert found is not None
    return found


@pytest.mark.parametrize("answer", ["The sea.", "42", "One\n\nTwo", "Größe: 5 €", "a"])
@pytest.mark.parametrize("system", ["", "Be brief."])
def test_a_continuation_is_the_templates_own(tokenizer: Tokenizer, answer: str, system: str) -> None:
    first = opening(tokenizer, "Why?", system)
    end = tokenizer.encode("<|im_end|>")
    assert len(end) == 1
    for ending in ([], end):
        said = array("I", [*first, *tokenizer.encode(answer), *ending])
        messages = [Message("system", system)] if system else []
        messages += [Message("user", "Why?"), Message("assistant", answer), Message("user", "And then?")]
        assert continuation(tokenizer, said, frozenset(end), "And then?").tolist() == tokenizer.chat(messages)


def test_the_demos_system_prompts_fill_several_blocks_and_leave_room_for_the_rest(
    tokenizer: Tokenizer,
) -> None:
    """The pool of the demo has 96 blocks of 16: a conversation may grow to a third of them."""
    for kind, subjects in prompts().subjects.items():
        for subject in subjects:
            assert 90 <= len(tokenizer.encode(subject.system)) <= 140
            first = opening(tokenizer, subject.turns[0], subject.system)
            assert len(first) <= (400 if kind == "text" else 200), subject.name


@pytest.mark.parametrize("template", ["{{ messages[0] ", "{{ raise_exception('no such role') }}"])
def test_a_template_that_can_not_be_used_is_told_when_it_is_loaded(
    smollm2: Path, tmp_path: Path, template: str
) -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((smollm2 / name).read_bytes())
    (tmp_path / "chat_template.jinja").write_text(template)
    with pytest.raises(
        UsageError, match="can't hold a conversation: the chat template refuses this: "
    ) as raised:
        load_tokenizer(tmp_path)
    assert "\n" not in str(raised.value)
