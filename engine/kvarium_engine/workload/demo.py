"""The demo: conversations that make a small pool do all that it can do within a minute, and then go on calmly.

    opening   one conversation after another, as many at once as the pool and the seats take, until blocks were evicted
    calm      one or two at a time, with pauses in between: there is room for whoever types a prompt

    chat      a common system prompt, and several turns          share; each further turn hits freed blocks: reuse
    samples   three answers to one prompt                        fork, copy-on-write, release
    text      something longer is to be read                     long prefills: the pool turns over, evict

The opening goes by the work that is done, the calm by the ledger's clock. What is asked depends on the seed alone; when,
and behind which answer, on how the engine does. Nothing is asked that would be refused: what does not fit into a pool
is left out or cut, and a conversation that grows too long ends.
"""

from array import array
from dataclasses import dataclass

from kvarium_engine.conversation import continuation, opening
from kvarium_engine.engine import Engine
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.vocabulary import Vocabulary
from kvarium_engine.workload.demo_prompts import Deck, Subject

LEAST_OPENING = 10
MOST_OPENING = 48
"""Requests of the opening: it ends between the two, when enough blocks were evicted."""

_EVICTED = 12
_AT_ONCE = 2
"""Conversations at once, in the calm."""
_SECOND = 1_000_000_000
_THINKING = (3.0, 2.0, 4.0, 2.5, 3.5)
"""Seconds between an answer and the next turn, one after another."""
_BETWEEN = (2.5, 5.0, 3.5, 6.0)
"""Seconds between the end or the beginning of a conversation and the next one."""
_TEMPERATURES = (0.0, 0.7, 0.0, 0.9)


@dataclass(slots=True)
class _Talk:
    """A conversation that goes on: what it is about, how many turns were asked, the last of them, and the next one."""

    number: int
    subject: Subject
    turn: int = 0
    request: Request | None = None
    prompt: "array[int] | None" = None
    """The next turn's, once the answer to the last one has come."""
    due: int = 0
    """It is not asked before (ns of the ledger)."""


class Demo:
    """Talks to an engine; sizes, vocabulary and clock are the engine's. It never ends."""

    done = False

    def __init__(self, seed: int = 0) -> None:
        self._deck = Deck(seed)
        self._seed = seed
        self._talks: list[_Talk] = []
        self._coming: _Talk | None = None
        """The next conversation, which waits for room."""
        self._begun = 0
        self._asked = 0
        self._new_due = 0
        self.calm = False
        """The opening is over."""

    # -- the workload -------------------------------------------------------------------------------------------

    def feed(self, engine: Engine) -> None:
        """Ask what is due before the next step: one request at most."""
        vocabulary = engine.runner.vocabulary
        if vocabulary is None or self._longest(engine) < 2:
            return
        now = engine.ledger.now()
        self._listen(engine, vocabulary, now)
        self.calm = self.calm or self._opened(engine)
        if len(engine.scheduler.roster.waiting):
            return
        for talk in self._talks:
            if talk.prompt is not None and talk.due <= now:
                self._ask(talk, engine)
                return
        if self.calm and (len(self._talks) >= _AT_ONCE or now < self._new_due):
            return
        if len(self._talks) < self._seats(engine):
            self._begin(engine, vocabulary, now)

    def pause(self, engine: Engine) -> float:
        """Seconds until the next turn or conversation is due."""
        due = [talk.due for talk in self._talks]
        if len(due) < _AT_ONCE:
            due.append(self._new_due)
        return max((min(due) - engine.ledger.now()) / _SECOND, 0.01)

    # -- when -----------------------------------------------------------------------------------------------------

    def _opened(self, engine: Engine) -> bool:
        """Enough was shown: blocks were evicted, that is, contents are known that no block holds any more."""
        cache = engine.pool.cache
        evicted = cache.next_content - len(cache) if cache is not None else 0
        return self._asked >= MOST_OPENING or (self._asked >= LEAST_OPENING and evicted >= _EVICTED)

    def _listen(self, engine: Engine, vocabulary: Vocabulary, now: int) -> None:
        """Whose answer has come? A conversation has a further turn after a pause, or ends."""
        for talk in self._talks.copy():
            if talk.prompt is not None or talk.request is None or talk.request.state is not None:
                continue
            if not self.calm or len(self._talks) <= _AT_ONCE:
                talk.prompt = self._further(talk, engine, vocabulary)
                talk.due = now + (self._seconds(_THINKING, talk.number + talk.turn) if self.calm else 0)
            if talk.prompt is None:
                self._talks.remove(talk)
                self._new_due = max(self._new_due, now + self._seconds(_BETWEEN, talk.number))

    @staticmethod
    def _seconds(choices: tuple[float, ...], number: int) -> int:
        return int(choices[number % len(choices)] * _SECOND)

    # -- how much -------------------------------------------------------------------------------------------------

    @staticmethod
    def _longest(engine: Engine) -> int:
        """Tokens of a conversation, its last answer included."""
        pool, most = engine.pool, engine.config.scheduler.max_model_len
        return min(most, max(pool.num_blocks // 3, min(pool.num_blocks, 2)) * pool.block_size)

    def _answer(self, engine: Engine) -> int:
        """Tokens of an answer: in the calm there is time for longer ones."""
        return max(1, min(self._longest(engine) // (6 if self.calm else 10), 96))

    def _seats(self, engine: Engine) -> int:
        """Sequences of the demo at once: in the opening all but one, later half, so that others find a seat."""
        seats = engine.config.scheduler.max_num_seqs
        return max(1, seats // 2 if self.calm else seats - 1)

    def _has_room(self, engine: Engine, prompt: int, n: int) -> bool:
        """Are there seats and blocks for it now? In the calm, a part of the blocks stays for others."""
        roster, pool = engine.scheduler.roster, engine.pool
        if not roster.running:
            return True
        needed = (
            n * pool.reserved_blocks(prompt, self._answer(engine)) or blocks_for(prompt, pool.block_size) + n
        )
        spare = pool.num_blocks // 4 if self.calm else 0
        return roster.width + n <= self._seats(engine) and needed + spare <= pool.num_free

    # -- what -----------------------------------------------------------------------------------------------------

    def _begin(self, engine: Engine, vocabulary: Vocabulary, now: int) -> None:
        """Begin the next conversation, if there is room for it; else it is the next one later, too."""
        talk = self._coming
        if talk is None:
            talk = self._coming = _Talk(self._begun, self._deck.draw())
            talk.prompt = self._first(talk.subject, engine, vocabulary)
            self._begun += 1
        if self._ask(talk, engine):
            self._coming = None
            self._talks.append(talk)
            self._new_due = max(self._new_due, now + self._seconds(_BETWEEN, talk.number))

    def _ask(self, talk: _Talk, engine: Engine) -> bool:
        """Ask a conversation's next turn, if there is room for it."""
        prompt, subject, roster = talk.prompt, talk.subject, engine.scheduler.roster
        assert prompt is not None, f"conversation {talk.number} has no turn to ask"
        answer = self._answer(engine)
        pool = engine.pool
        each = pool.reserved_blocks(len(prompt), answer) or blocks_for(
            len(prompt) + answer - 1, pool.block_size
        )
        fitting = pool.num_blocks // each
        n = max(1, min(subject.n, fitting, self._seats(engine)))
        if not self._has_room(engine, len(prompt), n):
            return False
        params = SamplingParams(
            max_tokens=answer,
            n=n,
            temperature=1.0 if n > 1 else _TEMPERATURES[talk.number % len(_TEMPERATURES)],
            seed=self._seed % (1 << 20) + talk.number,
        )
        name = f"{subject.name}-{talk.number}" + (f"-turn-{talk.turn + 1}" if talk.turn else "")
        while roster.find(name) is not None:
            name += "+"  # somebody has taken it
        talk.request = engine.scheduler.submit(prompt, params, name, text=subject.turns[talk.turn])
        talk.prompt = None
        talk.turn += 1
        self._asked += 1
        return True

    def _first(self, subject: Subject, engine: Engine, vocabulary: Vocabulary) -> "array[int]":
        """The first turn's prompt: without the system prompt if it were too long, and then only its end."""
        most, size = self._longest(engine) - self._answer(engine), engine.pool.block_size
        message = subject.turns[0]
        prompt = _begun(vocabulary, message, subject.system)
        if subject.n > 1 and len(prompt) % size == 0:
            # Whole blocks are never copied: with some more words the last one is partly filled when it is shared.
            prompt = _begun(vocabulary, message + " Take your time.", subject.system)
        if len(prompt) > most:
            prompt = _begun(vocabulary, message, "")
        return prompt[-most:]

    def _further(self, talk: _Talk, engine: Engine, vocabulary: Vocabulary) -> "array[int] | None":
        """The next turn's prompt, behind the answer; None when there is no more to say, or no room to say it."""
        request, turns = talk.request, talk.subject.turns
        if talk.turn >= len(turns) or request is None or request.first is None:
            return None
        try:
            prompt = continuation(
                vocabulary, request.first.tokens, engine.runner.eos_tokens, turns[talk.turn]
            )
        except ValueError:
            return None
        return prompt if len(prompt) + self._answer(engine) <= self._longest(engine) else None


def _begun(vocabulary: Vocabulary, message: str, system: str) -> "array[int]":
    """The beginning of a conversation, also where a template takes no system prompt, or no conversation at all."""
    for said, before in ((message, system), (f"{system}\n\n{message}".strip(), "")):
        try:
            return opening(vocabulary, said, before)
        except ValueError:
            continue
    return array("I", vocabulary.encode(message))
