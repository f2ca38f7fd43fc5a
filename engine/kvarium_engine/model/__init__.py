"""What computes a step: runners. The null runner needs no model; others come beside it."""
