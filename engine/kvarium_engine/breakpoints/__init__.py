"""Breakpoints: where an engine stops before its next step, by what the last one did.

    Ledger.seal ──▶ sink: the step, as it is recorded ──▶ link
                      └──▶ Breakpoints.look ── met? ──▶ note in the record, and the engine is held      before step n + 1
                             Known    who there is, how full the pool is     folded from the steps, from the state when one is set
                             Matcher  a predicate's conditions, over the step's columns

They look at what the ledger was told, not at the pool. While there is none, nothing stands in the ledger's way: its sink is the
engine's own.
"""
