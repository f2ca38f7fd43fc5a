"""The paged engine: schedule, run, sample, seal; every change of every block is told to the ledger.

Start with :mod:`kvarium_engine.engine` (the loop), then :mod:`kvarium_engine.scheduling.scheduler` (who runs) and
:mod:`kvarium_engine.memory.block_pool` (where the blocks are).
"""
