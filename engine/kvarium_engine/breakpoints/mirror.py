"""A mirror of the engine's state, folded exactly, to find what is wrong with a step before the next one."""

from kvarium_engine.engine import Engine
from kvarium_ledger.encoder import Encoder
from kvarium_ledger.fold import Fold
from kvarium_ledger.ledger import SealedStep
from kvarium_ledger.violations import Violation


class Mirror:
    """Follows ``engine`` from where it is: between two steps, while nothing waits to be sealed."""

    def __init__(self, engine: Engine) -> None:
        self._encoder = Encoder(engine.pool.num_blocks)
        self._fold = Fold(engine.pool.num_blocks, engine.pool.block_size, undoable=False)
        for record in self._encoder.records(engine.snapshot()):
            self._fold.apply(record)

    def follow(self, step: SealedStep) -> list[Violation]:
        """What is wrong with a step: its operations, the state that they leave, or an audit of the engine's real objects."""
        return [found for record in self._encoder.records(step) for found in self._fold.apply(record)]
