"""Benches: each answers one question about paged memory with figures of the real engine, as a table or as JSON.

A bench is a file: what it measures (pure, returns plain values), how a person reads it, and its command. It measures
ratios within one run, with interleaved halves where it takes times, as machines are noisy.
"""
