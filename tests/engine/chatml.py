"""A vocabulary with a chat template of ChatML's form: a token a byte, and one for each of the two marks."""

from collections.abc import Sequence

from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.model.seeded_tokens import EOS, FIRST_TOKEN
from kvarium_engine.vocabulary import Message

START = 1
END = EOS
DEFAULT_SYSTEM = "You are here."


class ChatML:
    """As SmolLM2's template does it: a system prompt of the template's own where none is given."""

    size = FIRST_TOKEN + 256
    has_chat_template = True

    def encode(self, text: str) -> list[int]:
        return [byte + FIRST_TOKEN for byte in text.encode()]

    def chat(self, messages: Sequence[Message]) -> list[int]:
        if messages[0].role != "system":
            messages = [Message("system", DEFAULT_SYSTEM), *messages]
        tokens: list[int] = []
        for role, content in messages:
            tokens += [START, *self.encode(f"{role}\n{content}"), END, *self.encode("\n")]
        return [*tokens, START, *self.encode("assistant\n")]

    def piece(self, token: int) -> str:
        return {START: "<|im_start|>", END: "<|im_end|>"}.get(token) or chr(token - FIRST_TOKEN)


class ChatRunner(NullRunner):
    """The null runner with that vocabulary."""

    vocabulary = ChatML()  # type: ignore[assignment]
