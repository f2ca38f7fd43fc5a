"""Answers to *why*, each derived from the recorded ledger: exact, with the places that prove it.

    question ──▶ Past (search, fold at an operation, walk) ──▶ answer: facts and places ──▶ JSON, or lines to read

One file a question; docs/why.md says of each word of an answer what exactly it means. What lies before the recording's
first keyframe, or in a gap, is *not recorded*, and said so: nothing is guessed.
"""
