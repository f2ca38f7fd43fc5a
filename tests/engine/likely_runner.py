"""A runner without a model that tells likely tokens as if it had one."""

from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.scheduling.step_plan import StepPlan
from kvarium_ledger.step_text import TokenLogprobs


class LikelyRunner(NullRunner):
    """Tells as many of the likeliest tokens as are asked for: token t with -t / 8; the n-th of a sequence with -n / 8."""

    def execute(self, plan: StepPlan) -> list[int]:
        sampled = super().execute(plan)
        sequences = [*plan.decodes, *(p.sequence for p in plan.prefills for _ in range(p.samples))]
        plan.logprobs = [
            TokenLogprobs(number, -sequence.length / 8, 7, range(count), [-t / 8 for t in range(count)])
            for number, sequence in enumerate(sequences)
            if (count := sequence.request.params.logprobs) is not None
        ]
        return sampled
