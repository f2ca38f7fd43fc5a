"""Where the blocks are: the pool, its free queue, the prefix cache and the block tables."""
