"""Models of the Hugging Face hub: by their id, from the usual cache, fetched where there is a network.

    org/name ─▶ look up: its commit, its files ─▶ config.json            enough for all sums, and to check options
                                               └▶ weights, tokenizer …   when the model is loaded

    <HF_HOME>/hub/models--org--name/snapshots/<commit>/     where any tool of this field finds it again

What to do is huggingface_hub's, with its settings (HF_HOME, HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE). A model whose hub can't be
reached is taken from the cache. It needs no torch.
"""

import importlib.util
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kvarium_engine.errors import UsageError
from kvarium_engine.model.weights import safetensors_of
from kvarium_engine.progress import progress

CONFIG = "config.json"

_LONGEST_ID = 200
_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_BESIDE = frozenset(
    {
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "vocab.json",
        "merges.txt",
        "tokenizer.model",
        "chat_template.jinja",
        "chat_template.json",
    }
)
"""What is read beside a model's weights."""

_WEIGHTS = (
    (re.compile(r"model\.safetensors"),),
    (re.compile(r"model\.safetensors\.index\.json"), re.compile(r"model-\d+-of-\d+\.safetensors")),
    (re.compile(r"pytorch_model\.bin"),),
    (re.compile(r"pytorch_model\.bin\.index\.json"), re.compile(r"pytorch_model-\d+-of-\d+\.bin")),
)
"""Files of weights, as transformers looks for them: the first kind that is there."""

_LOOK_UP_S = 10.0
_POLL_S = 0.25


def is_on_hub(model: str) -> bool:
    """Is this an id of the hub (``org/name``), and no path of this machine?"""
    return len(model) <= _LONGEST_ID and _ID.fullmatch(model) is not None and not Path(model).exists()


def fetch_config(model: str) -> Path:
    """The ``config.json`` of a model of the hub, in its snapshot in the cache. Raises :class:`UsageError` in one line."""
    _require()
    from huggingface_hub import hf_hub_download

    reached = _look_up(model, None) is not None
    with _told(model):
        return Path(hf_hub_download(model, CONFIG, local_files_only=not reached))


def fetch_weights(model: str, snapshot: Path) -> None:
    """Complete a ``snapshot`` that :func:`fetch_config` began: weights, tokenizer, chat template. Shows how far it is.

    Raises :class:`UsageError` in one line.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    found = _look_up(model, snapshot.name)
    if found is None:
        if not (safetensors_of(snapshot) or any(snapshot.glob("pytorch_model*.bin"))):
            raise UsageError(
                f"the hub can't be reached, and of {model} only the config is in the cache: {snapshot}"
            )
        return
    sizes = {sibling.rfilename: sibling.size or 0 for sibling in found.siblings or ()}
    missing = [name for name in wanted_files(model, list(sizes)) if not (snapshot / name).exists()]
    if not missing:
        return
    total = sum(sizes[name] for name in missing)
    _check_room(model, snapshot, total)
    blobs = snapshot.parent.parent / "blobs"
    shown = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        with _told(model), _watched(f"{model}: fetching {total / 1e6:,.0f} MB", total, blobs):
            for name in missing:
                hf_hub_download(model, name, revision=snapshot.name)
    finally:
        if not shown:
            enable_progress_bars()


def wanted_files(model: str, names: list[str]) -> list[str]:
    """Of all files of a model, those that it needs. Raises :class:`UsageError` where there are no weights among them."""
    for kind in _WEIGHTS:
        weights = [name for name in names if any(pattern.fullmatch(name) for pattern in kind)]
        if any(kind[0].fullmatch(name) for name in weights):
            return [CONFIG, *sorted(_BESIDE.intersection(names)), *weights]
    raise UsageError(
        f"the model {model} has no weights in transformers' layout (model*.safetensors or pytorch_model*.bin)"
    )


def _require() -> None:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise UsageError(
            "a model of the hub needs huggingface_hub, not installed here: pip install 'kvarium[engine]'"
        )


def _look_up(model: str, revision: str | None) -> Any:
    """What the hub says of a model (its files and their sizes); None where it can't be reached and the cache may do.

    Raises :class:`UsageError` for one that is not there.
    """
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        return HfApi().model_info(model, revision=revision, timeout=_LOOK_UP_S, files_metadata=True)
    except Exception as error:
        if isinstance(error, HfHubHTTPError) and error.response.status_code < 500:
            raise _explained(model, error) from None
        if isinstance(try_to_load_from_cache(model, CONFIG, revision=revision), str):
            return None
        if isinstance(error, OfflineModeIsEnabled):
            raise UsageError(
                f"no model {model!r}: there is no such folder, and it is not in the cache of the hub, which HF_HUB_OFFLINE "
                "forbids to ask"
            ) from None
        raise _explained(model, error) from None


@contextmanager
def _told(model: str) -> Iterator[None]:
    """Raises :class:`UsageError` for whatever goes wrong with a file of a model."""
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        raise _explained(model, error) from None


def _explained(model: str, error: Exception) -> UsageError:
    from huggingface_hub import constants
    from huggingface_hub.errors import EntryNotFoundError, GatedRepoError, RepositoryNotFoundError

    page = f"{constants.ENDPOINT}/{model}"
    if isinstance(error, GatedRepoError):
        return UsageError(
            f"the model {model} is gated: accept its terms at {page}, then `hf auth login` or HF_TOKEN lets you in"
        )
    if isinstance(error, RepositoryNotFoundError):
        return UsageError(
            f"no model {model!r}: there is no such folder, and the hub has none of that name, or a private one (HF_TOKEN)"
        )
    if isinstance(error, EntryNotFoundError):
        return UsageError(f"the model {model} of the hub has no {CONFIG}: it is none in transformers' layout")
    line = next(iter(str(error).strip().splitlines()), "")
    return UsageError(
        f"the model {model} is not here and can't be fetched from {page} ({type(error).__name__}: {line}): "
        "name a folder, or try again with a network"
    )


def _check_room(model: str, snapshot: Path, needed: int) -> None:
    free = shutil.disk_usage(snapshot).free
    if free < needed:
        raise UsageError(
            f"{model} needs {needed / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB are free where {snapshot} is: make room, or "
            "set HF_HOME to another folder"
        )


@contextmanager
def _watched(what: str, total: int, blobs: Path) -> Iterator[None]:
    """Show how much of ``total`` bytes has come, by what lies in ``blobs``."""
    before = _bytes_in(blobs)
    done = threading.Event()

    with progress(what, max(total, 1)) as report:

        def watch() -> None:
            while not done.wait(_POLL_S):
                report(min(_bytes_in(blobs) - before, total), what)

        watcher = threading.Thread(target=watch, name="hub-progress", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.glob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # moved away in between
            continue
    return total
