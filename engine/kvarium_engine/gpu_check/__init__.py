"""``kvarium gpu-check``: is the engine right on this machine's card, and what does it reach there? One command, within five minutes.

    python -m kvarium_engine.gpu_check --json       supervisor: no torch, a budget for each part, the report
                    │  ▲ a line of JSON a part
                    ▼  │
                  worker: torch, the model, the card        a part that hangs or breaks the card ends the worker, not the check

It needs no network and no server: the folders ``kvarium_engine`` and ``kvarium_ledger`` beside each other, with torch, triton,
transformers, numpy, msgspec and websockets installed, are enough. Without a card it does what a CPU can, small, and says what it left out.
"""
