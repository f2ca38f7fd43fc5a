"""vLLM's scheduler as the tests drive it: its real code and settings, around no model."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from vllm.config import CacheConfig, ObservabilityConfig, ParallelConfig, SchedulerConfig
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256_cbor
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.scheduler import Scheduler as VllmScheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus

from tests.oracle import differences
from tests.oracle.differences import SETTINGS, Scheduler, vllm_blocks
from tests.oracle.scenario import EOS, Scenario, Submit

if TYPE_CHECKING:
    from vllm.v1.core.sched.output import SchedulerOutput

HASH_SEED = "0"


def seed_hashes(seed: str) -> None:
    """Let vLLM's hash chain begin as in a process whose PYTHONHASHSEED is ``seed``."""
    os.environ["PYTHONHASHSEED"] = seed
    init_none_hash(sha256_cbor)


def make_scheduler(
    scenario: Scenario, kind: type[VllmScheduler] = Scheduler, settings: dict[str, Any] = SETTINGS
) -> VllmScheduler:
    """A scheduler of vLLM. Its configuration stands in for one whose model would have to be loaded."""
    blocks = vllm_blocks(scenario.num_blocks)
    cache = CacheConfig(block_size=scenario.block_size, enable_prefix_caching=scenario.caching)
    cache.num_gpu_blocks = blocks
    config = SimpleNamespace(
        scheduler_config=SchedulerConfig(
            max_num_seqs=scenario.seqs,
            max_num_batched_tokens=scenario.budget,
            max_model_len=scenario.length,
            policy=scenario.policy,
            **settings,
        ),
        cache_config=cache,
        model_config=SimpleNamespace(
            max_model_len=scenario.length,
            runner_type="generate",
            uses_mrope=False,
            is_encoder_decoder=False,
            is_diffusion=False,
            supports_multimodal_inputs=False,
            return_sampling_mask=False,
        ),
        parallel_config=ParallelConfig(),
        observability_config=ObservabilityConfig(),
        aux_output_config=SimpleNamespace(enabled=False),
        ec_manager_config=SimpleNamespace(get_encoder_cache_manager_obj=lambda: None),
        lora_config=None,
        kv_events_config=None,
        kv_transfer_config=None,
        ec_transfer_config=None,
        speculative_config=None,
        num_speculative_tokens=0,
        num_lookahead_tokens=0,
        num_prefill_lookahead_tokens=0,
        max_in_flight_tokens=None,
        max_concurrent_batches=1,
        is_mm_encoder_only=False,
        use_v2_model_runner=False,
    )
    spec = FullAttentionSpec(block_size=scenario.block_size, num_kv_heads=1, head_size=1, dtype=torch.float32)
    groups = [KVCacheGroupSpec(["layer"], spec)]
    grammar = SimpleNamespace(accept_tokens=lambda request, tokens: True)
    scheduler = kind(
        config,
        KVCacheConfig(num_blocks=blocks, kv_cache_tensors=[], kv_cache_groups=groups),
        grammar,
        block_size=scenario.block_size,
        log_stats=True,
    )
    scheduler.kv_cache_manager.block_pool.enable_kv_cache_events = True
    return scheduler


def make_request(submit: Submit, prompt: list[int], arrival: int, block_size: int) -> Request:
    """A request of vLLM; ``arrival`` is its place in the order of arrival."""
    stop = [] if submit.ignore_eos else [EOS]
    return Request(
        request_id=submit.name,
        prompt_token_ids=prompt,
        sampling_params=SamplingParams(max_tokens=submit.max_tokens, stop_token_ids=stop),
        pooling_params=None,
        arrival_time=float(arrival),
        priority=submit.priority,
        cache_salt=submit.cache_salt,
        lora_request=differences.adapter(submit.lora_name),
        block_hasher=get_request_block_hasher(block_size, sha256_cbor),
    )


def runner_output(output: SchedulerOutput, sampled: dict[str, int]) -> ModelRunnerOutput:
    """What vLLM's runner would answer: a token of each request that has computed all of its own."""
    names = list(output.num_scheduled_tokens)
    return ModelRunnerOutput(
        req_ids=names,
        req_id_to_index={name: i for i, name in enumerate(names)},
        sampled_token_ids=[[sampled[name]] if name in sampled else [] for name in names],
    )


def abort(scheduler: Scheduler, name: str) -> None:
    scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)
