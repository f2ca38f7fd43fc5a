"""What the check runs on: the card, its driver, and the versions of what the engine is made of."""

import importlib.metadata
import os
import platform
import subprocess

import torch

from kvarium_engine.gpu_check.part import Facts, Setting
from kvarium_ledger.records import VERSION

PACKAGES = ("torch", "triton", "transformers", "numpy", "msgspec", "websockets")


def environment(setting: Setting) -> Facts:
    """By name; what is not there is None."""
    facts: Facts = {
        "device": setting.device,
        "ledger_version": VERSION,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": len(os.sched_getaffinity(0)),
        "cuda": torch.version.cuda,
        "card": None,
        "driver": None,
        **{name: version(name) for name in PACKAGES},
    }
    if setting.on_card:
        card = torch.cuda.get_device_properties(0)
        facts |= {
            "card": card.name,
            "compute_capability": f"{card.major}.{card.minor}",
            "memory_gib": round(card.total_memory / (1 << 30), 2),
            "multiprocessors": card.multi_processor_count,
            "driver": driver(),
        }
    return facts


def version(package: str) -> str | None:
    """The version that is installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def driver() -> str | None:
    """The driver's version, as ``nvidia-smi`` tells it."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=8, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return told.strip().splitlines()[0] if told.strip() else None
