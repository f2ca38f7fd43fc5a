"""Sessions that every implementation of the fold must follow to the same states."""
