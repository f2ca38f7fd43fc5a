"""A real model, if its file is given: the tiny Llama of llama2.c (stories260K.bin) tells its story, in float32.

Its tokens are compared with transformers', and where the file of its vocabulary (tok512.bin) lies beside it, its text is told too.
"""

from kvarium_engine.gpu_check.driver import Driver
from kvarium_engine.gpu_check.engine_tokens import generated
from kvarium_engine.gpu_check.part import Facts, FailedError, Setting, SkippedError
from kvarium_engine.model.llama2c import BOS, Llama2cTokens, load_llama2c

TOKENS = 220
BEGINS = "Once upon a time, there was a little girl named Lily. She loved to play outside in the park."
"""What stories260K begins with, greedily."""


def check_text(setting: Setting) -> Facts:
    """Greedy tokens from the beginning. Raises :class:`FailedError` where they are not those of transformers."""
    if setting.tiny_model is None:
        raise SkippedError("no file is given: --tiny-model stories260K.bin")
    model = load_llama2c(setting.tiny_model).to(setting.device)
    driver = Driver(model, 1, TOKENS + 2)
    (answer,) = driver.greedy([[BOS]], TOKENS)
    driver.close()
    expected, _ = generated(model, [BOS], TOKENS)
    facts: Facts = {
        "tokens": TOKENS,
        "equal": answer == expected,
        "same_until": next((at for at in range(TOKENS) if answer[at] != expected[at]), TOKENS),
    }
    words = setting.tiny_model.with_name("tok512.bin")
    if words.is_file() and model.config.vocab_size == 512:
        pieces = Llama2cTokens(words, 512)
        facts["text"] = "".join(pieces.piece(token) for token in answer).strip()
    if not facts["equal"]:
        raise FailedError(f"from token {facts['same_until']} on they are not those of transformers", facts)
    if setting.tiny_model.name == "stories260K.bin" and not facts.get("text", BEGINS).startswith(BEGINS):
        raise FailedError(f"its text does not begin as it should: {facts['text'][:100]!r}", facts)
    return facts
