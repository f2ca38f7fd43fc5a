"""The null runner: the same scheduler, pool and ledger, and no tensors. Tokens are seeded.

A sampled token depends on the engine's seed, the request's seed, the sequence's index and the position, and on nothing
else: not on preemptions, not on who ran beside it. So a run is repeated exactly by its seed. What a beam may go on with
depends on the seeds and on the beam's tokens.
"""

import time
import zlib
from collections import abc

from kvarium_engine.memory.block_norms import BlockNorms
from kvarium_engine.model.seeded_tokens import EOS, FIRST_TOKEN, VOCABULARY, mix
from kvarium_engine.scheduling.beam import Candidates, candidates_of
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_engine.scheduling.step_plan import StepPlan
from kvarium_engine.scheduling.stopping import barred_tokens
from kvarium_engine.vocabulary import Message, Vocabulary, byte_piece

_SPAN = VOCABULARY - FIRST_TOKEN
_STRIDE = 7919
"""From one candidate of a beam to the next: it has no factor in common with the number of tokens, so all differ."""


class Bytes:
    """The vocabulary of prompts for the null runner: a token a UTF-8 byte. Sampled tokens are mere numbers."""

    size = FIRST_TOKEN + 256
    has_chat_template = False

    def encode(self, text: str) -> list[int]:
        """A token a byte: equal beginnings of texts are equal beginnings of prompts."""
        return [byte + FIRST_TOKEN for byte in text.encode()]

    def chat(self, messages: abc.Sequence[Message]) -> list[int]:
        """There is no chat template: raises :class:`ValueError`."""
        raise ValueError("the null runner has no chat template")

    def piece(self, token: int) -> str:
        """The character of an ASCII byte, ``<0xE2>`` of another one, nothing of a token that is no byte."""
        return byte_piece(bytes([token - FIRST_TOKEN])) if FIRST_TOKEN <= token < self.size else ""


class NullRunner:
    """Samples seeded tokens, but none that is barred by ``min_tokens``. It has no logits: nothing else steers it.

    ``step_ms`` is the time that a step pretends to take, so that a person can watch. ``eos_every``: one token in so
    many, on average, ends its sequence, unless its request ignores that (0: none does).
    """

    name = "null"
    has_logits = False
    model = "none"
    device = "cpu"
    eos_tokens = frozenset({EOS})
    kv_bytes_per_block = 0
    vocab_size = 1 << 32
    vocabulary: Vocabulary | None = Bytes()

    def __init__(self, seed: int = 0, step_ms: float = 0.0, eos_every: int = 0) -> None:
        if step_ms < 0:
            raise ValueError(f"step_ms must not be negative, it is {step_ms}")
        self.step_ms = step_ms
        self.eos_every = eos_every
        self._seed = mix(seed)

    def _salt(self, request: Request, index: int) -> int:
        seed = request.params.seed
        return mix(self._seed + (request.id if seed is None else seed) * 0x9E3779B1 + index * 97)

    def _token(self, salt: int, position: int) -> int:
        value = (((salt ^ (position * 0x9E3779B1)) * 0x9E3779B97F4A7C15) >> 32) & 0xFFFFFFFF
        if self.eos_every and value % self.eos_every == 0:
            return EOS
        return (value >> 4) % _SPAN + FIRST_TOKEN

    def _allowed(self, sequence: Sequence, salt: int) -> int:
        token = self._token(salt, sequence.length)
        if sequence.request.params.min_tokens:
            barred = barred_tokens(sequence, self.eos_tokens)
            turn = salt + sequence.length
            while token in barred:
                turn = mix(turn)
                token = turn % _SPAN + FIRST_TOKEN
        return token

    def _candidates(self, sequence: Sequence) -> Candidates:
        """Distinct tokens, each less likely than the one before; one of them may be the end token."""
        request = sequence.request
        count = candidates_of(request.params, self.eos_tokens)
        barred = barred_tokens(sequence, self.eos_tokens)
        turn = mix(self._salt(request, 0) + zlib.crc32(sequence.tokens.tobytes()))
        tokens: list[int] = []
        if self.eos_every and turn % self.eos_every == 0 and EOS not in barred:
            tokens.append(EOS)
        place = turn
        while len(tokens) < count:
            place += _STRIDE
            token = place % _SPAN + FIRST_TOKEN
            if token not in barred:
                tokens.append(token)
        logprob = 0.0
        logprobs: list[float] = []
        for _ in tokens:
            turn = mix(turn + 1)
            logprob -= 0.05 + turn % 997 / 997
            logprobs.append(logprob)
        return Candidates(tokens, logprobs)

    def execute(self, plan: StepPlan) -> list[int]:
        """One token a decode, then each prefill's samples."""
        token = self._token
        tokens: list[int] = []
        for sequence in plan.decodes:
            salt = sequence.salt
            if salt < 0:
                if sequence.request.params.beam_width is not None:
                    plan.candidates[sequence.id] = self._candidates(sequence)
                    tokens.append(0)
                    continue
                salt = self._salt(sequence.request, sequence.index)
                if sequence.request.params.min_tokens:
                    tokens.append(self._allowed(sequence, salt))  # and asked again the next time
                    continue
                sequence.salt = salt
            tokens.append(token(salt, sequence.length))
        for prefill in plan.prefills:
            sequence = prefill.sequence
            if prefill.samples and sequence.request.params.beam_width is not None:
                plan.candidates[sequence.id] = self._candidates(sequence)
            samples = range(sequence.index, sequence.index + prefill.samples)
            tokens += [self._allowed(sequence, self._salt(sequence.request, index)) for index in samples]
        if self.step_ms:
            time.sleep(self.step_ms / 1000)
        return tokens

    def norms(self, block: int, first: int, last: int) -> BlockNorms | None:
        """There are no keys and values."""
        return None

    def close(self) -> None:
        """There is nothing to give back."""
