"""The files of tests that take long, by size, with their seconds on two cores and nothing beside: they are begun first.

    one process     the trace ─────────────────│ the soak ────────│ · · · short ones · · ·│
    the other       Triton's engine ──────│ the kills ────────────│ · · · short ones · · │

Two processes share the tests file by file (``scripts/test.sh``), each takes the next when it is done: begun last, a long one would
run alone. A file that isn't here takes some seconds. These figures only order: a wrong one costs time, nothing else. A run of
``scripts/test.sh`` tells at its end what its longest files took.
"""

from typing import Final

SECONDS: Final[dict[str, dict[str, int]]] = {
    "small": {
        "tests/model/test_smollm2.py": 125,
        "tests/e2e/test_demo.py": 90,
        "tests/backend/test_bench_screen.py": 55,
        "tests/e2e/test_live.py": 45,
        "tests/e2e/test_playground.py": 30,
        "tests/backend/test_kills.py": 20,
        "tests/backend/test_limits.py": 25,
        "tests/model/test_hub.py": 25,
        "tests/model/test_fetch.py": 25,
        "tests/engine/test_kernels_command.py": 25,
        "tests/backend/test_inspection.py": 20,
        "tests/e2e/test_soak.py": 15,
        "tests/model/test_triton_engine.py": 20,
        "tests/model/test_beam.py": 20,
        "tests/oracle/test_scheduler.py": 15,
        "tests/oracle/test_vllm_ledger.py": 10,
        "tests/oracle/test_free_order.py": 10,
    },
    "full": {
        "tests/model/test_triton_engine.py": 300,
        "tests/backend/test_kills.py": 260,
        "tests/e2e/test_soak.py": 250,
        "tests/model/test_benches.py": 240,
        "tests/backend/test_trace.py": 200,
        "tests/backend/test_inspection.py": 150,
        "tests/backend/test_mutated_files.py": 150,
        "tests/engine/test_kernels_command.py": 150,
        "tests/model/test_architectures.py": 60,
        "tests/model/test_soak.py": 70,
        "tests/model/test_smollm2.py": 125,
        "tests/install/test_install.py": 120,
        "tests/e2e/test_demo.py": 90,
        "tests/e2e/test_replay.py": 40,
        "tests/engine/test_contiguous_state_machine.py": 75,
        "tests/model/test_attention_kernels.py": 70,
        "tests/backend/test_mutated_frames.py": 70,
        "tests/backend/test_bench_screen.py": 55,
        "tests/e2e/test_live.py": 45,
        "tests/e2e/test_tree.py": 45,
        "tests/e2e/test_seek_pixels.py": 45,
        "tests/e2e/test_transport.py": 45,
        "tests/e2e/test_playground.py": 40,
        "tests/engine/test_state_machine.py": 40,
        "tests/model/test_write_and_copy.py": 30,
        "tests/backend/test_limits.py": 25,
        "tests/model/test_hub.py": 25,
        "tests/model/test_fetch.py": 25,
        "tests/oracle/test_scheduler.py": 60,
        "tests/oracle/test_vllm_ledger.py": 30,
        "tests/oracle/test_free_order.py": 25,
        "tests/oracle/test_kv_cache_manager.py": 15,
    },
}
