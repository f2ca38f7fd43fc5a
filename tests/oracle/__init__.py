"""kvarium's pool and scheduler against vLLM's own, in lock step: the same random requests, and no model.

    scenario (plain data, from a seed)
        │ submit, step, abort, reset
        ├──▶ kvarium's Engine, with its fold behind it
        └──▶ vLLM 0.32: Scheduler ─▶ KVCacheManager ─▶ BlockPool
                           └── watched: VllmLedger ─▶ bytes ─▶ the fold of vLLM's ledger
    after each step all that they know is compared: who is scheduled with how much, block tables, counts, labels, queue;
    and the two ledgers, operation by operation

All run in one process, with vLLM's Python files and the clone's sources on its path (``scripts/oracle.sh``): no pipe and no
second copy of the state, and a difference is found where it arises. Without them nothing here is collected, with one line that
says so. What is meant to differ is in :mod:`tests.oracle.differences`, and nowhere else; docs/vllm.md tells it to readers.
"""
