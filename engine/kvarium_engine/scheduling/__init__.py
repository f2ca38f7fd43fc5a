"""Who runs: requests, their sequences, and the scheduler that gives them tokens and blocks."""
