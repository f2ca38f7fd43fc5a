"""Findings: what is wrong in a recording, each with the events that prove it.

    Walk ──▶ Part: steps, operations end to end ──▶ blocks, contents: what they were before each operation
                                                ──▶ a module a finding: counts, and keeps a few places as evidence

One pass over the records, in memory that depends on the pool, the contents and the requests. docs/findings.md says of each
finding what exactly it means, its thresholds, and what to change. No finding without the events that prove it.
"""
