"""Scenarios: lessons that run on a real engine, and say after each whether its numbers were as stated.

    script   submits requests ─▶ engine ─▶ ledger ─▶ records ─▶ witness       what happened, folded from the records alone
      ▲                                       ▲                    │
      └── captions are notes in the record ───┘   numbers ◀────────┘          stated against found

Nothing is canned: a script is a generator that is asked before each step of an engine, submits through the engine's own
commands, and reads what happened from the ledger. Start with :mod:`kvarium_engine.scenarios.scenario`.
"""
