"""vLLM's own BlockPool, unpatched, imported from where its Python files are; whoever wants it need not have it."""

import importlib.util
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "oracle.sh"
HOW = "scripts/oracle.sh of a clone fetches it, and this command finds it there"


def import_vllm() -> str | None:
    """Make ``vllm`` importable, fetched if need be; returns None, or in one line why it can't be had."""
    if importlib.util.find_spec("vllm") is None:
        if importlib.util.find_spec("torch") is None:
            return "vLLM imports torch, which is not here (scripts/setup.sh makes an environment with it)"
        if not _SCRIPT.exists():
            return f"vLLM is not on the path of {sys.executable}; {HOW}"
        command = ["bash", str(_SCRIPT), "--packages"]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
        except (OSError, subprocess.SubprocessError) as error:
            return f"vLLM could not be had by scripts/oracle.sh ({error})"
        sys.path.append(done.stdout.split("\n")[-2])
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            importlib.import_module("vllm.v1.core.block_pool")
        except ImportError as error:
            return f"vLLM can't be imported here ({error}); {HOW}"
        finally:
            logging.disable(logging.NOTSET)
    return None


def make_vllm_pool(num_blocks: int, block_size: int) -> Any:
    """A pool of vLLM with so many usable blocks; its events are off."""
    from vllm.v1.core.block_pool import BlockPool

    return BlockPool(num_blocks + 1, enable_caching=True, hash_block_size=block_size)


def request_of(tokens: list[int], block_size: int) -> Any:
    """What vLLM's pool looks at of a request: the hashes that it has made of its full blocks."""
    from vllm.utils.hashing import sha256_cbor
    from vllm.v1.core.kv_cache_utils import hash_block_tokens, init_none_hash

    init_none_hash(sha256_cbor)
    hashes: list[Any] = []
    for start in range(0, len(tokens), block_size):
        before = hashes[-1] if hashes else None
        hashes.append(hash_block_tokens(sha256_cbor, before, tokens[start : start + block_size]))
    return SimpleNamespace(block_hashes=hashes)
