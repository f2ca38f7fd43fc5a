"""What the ledger costs a step of decodes here: with it and without it in turn, as ``kvarium bench ledger`` measures it
(:mod:`kvarium_engine.bench.ledger_cost`), with the model of the timed steps on this machine's card.
"""

from kvarium_engine.bench.ledger_cost import Trial, compare
from kvarium_engine.bench.steady_load import Load
from kvarium_engine.gpu_check.driver import runner_of
from kvarium_engine.gpu_check.geometries import timed_model
from kvarium_engine.gpu_check.part import Facts, Setting
from kvarium_engine.model.capture_sizes import default_sizes
from kvarium_engine.model.torch_runner import TorchRunner

ON_CARD = Trial(4_096, Load(64, 256, 128), rounds=12, steps=6, warm_up=20)
SMALL = Trial(256, Load(4, 24, 8), rounds=2, steps=2, warm_up=3)


def measure(setting: Setting) -> Facts:
    """See :func:`kvarium_engine.bench.ledger_cost.compare`."""
    model = timed_model(setting.device)
    trial = ON_CARD if setting.on_card else SMALL

    def make() -> TorchRunner:
        runner = runner_of(model, trial.num_blocks)
        if setting.on_card:
            runner.capture(default_sizes(trial.load.sequences), trial.load.prompt + trial.load.output)
        return runner

    facts = compare(trial, make)
    setting.say(
        f"{facts['us_per_step']:,.1f} µs of the engine's thread, {facts['step_percent']:.3f} % of a step"
    )
    return facts
