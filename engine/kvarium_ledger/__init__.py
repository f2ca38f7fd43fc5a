"""The vocabulary of kvarium: what happens to the blocks of a paged engine, as records that anyone can fold.

Start with :mod:`kvarium_ledger.operations` (the nine operations), then :mod:`kvarium_ledger.records` (what is written)
and :mod:`kvarium_ledger.fold` (how a mirror follows). ``docs/ledger.md`` specifies the format.
"""
