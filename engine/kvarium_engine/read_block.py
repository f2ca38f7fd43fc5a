"""What a block holds on the device, read when somebody asks: norms of its keys and values, a layer and head each.

    read_block {block, generation, slot?}  ──▶  {block, generation, step, first, last, layers, kv_heads, key, value}

A block's number alone would name whatever stands in it by the time that the question arrives; with its ``generation``
(its life) it names what the asker saw, and a block that was given to somebody else meanwhile is refused. It is carried
out between two steps, as all commands are, so that nothing is read while it is written.
"""

from kvarium_engine.arguments import Args, CommandError, integer
from kvarium_engine.engine import Engine
from kvarium_ledger.messages import Result

MOST_GENERATIONS = (1 << 32) - 1


def read_block(engine: Engine, args: Args) -> dict[str, Result]:
    """Read one life of one block: of all its written slots the mean, or one ``slot`` alone.

    ``key`` and ``value`` are layers × kv_heads Euclidean norms each, a layer after the other, of slots ``first`` to before ``last``, as they are after ``step``.
    Raises :class:`CommandError` where there is no such block, life or written slot, or no keys and values at all.
    """
    for name in ("block", "generation"):
        if args.get(name) is None:
            raise CommandError(f"read_block needs {name}")
    state = engine.pool.state
    block = integer(args, "block", 0, 0, engine.pool.num_blocks - 1)
    generation = integer(args, "generation", 0, 0, MOST_GENERATIONS)
    if generation != state.generation[block]:
        raise CommandError(
            f"block {block}#{generation} is not there: the block is in its life {state.generation[block]} now, and what "
            "it held before was written over"
        )
    first, last = 0, state.filled[block]
    if last == 0:
        raise CommandError(f"block {block}#{generation} holds nothing: none of its slots is written")
    if args.get("slot") is not None:
        first = integer(args, "slot", 0, 0, last - 1)
        last = first + 1
    norms = engine.runner.norms(block, first, last)
    if norms is None:
        raise CommandError(
            f"the {engine.runner.name} runner computes no keys and values: start the engine with a --model"
        )
    return {
        "block": block,
        "generation": generation,
        "step": engine.steps - 1,
        "first": first,
        "last": last,
        "layers": norms.layers,
        "kv_heads": norms.kv_heads,
        "key": norms.key,
        "value": norms.value,
    }
