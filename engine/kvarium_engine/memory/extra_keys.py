"""Extra keys: what else than tokens a prefix depends on, so that equal tokens are not always the same prefix.

    a LoRA's name      in every block of the request     its keys and values are other ones
    a cache salt       in the first block                the chain carries it on; nobody without the salt can tell
                                                         by the time of an answer that a prefix is cached

They stand in a block's hash as in vLLM 0.32, each with a tag: ``("lora", name, path)``, then ``("cache_salt", salt)``.
An adapter is known by its name here, so that its path is its name, as with one that is served under its hub id.
"""

from dataclasses import dataclass, field

from kvarium_ledger.hashes import cbor


@dataclass(frozen=True, slots=True)
class ExtraKeys:
    """The extra keys of a request's blocks.

    ``first`` are those of the first block, ``rest`` those of all others, as they enter the hash (None: there are none).
    ``raw`` is the CBOR of ``first``, empty where there are none.
    """

    lora_name: str | None = None
    cache_salt: str | None = None
    first: tuple[tuple[str, ...], ...] | None = field(init=False, repr=False, compare=False, default=None)
    rest: tuple[tuple[str, ...], ...] | None = field(init=False, repr=False, compare=False, default=None)
    raw: bytes = field(init=False, repr=False, compare=False, default=b"")

    def __post_init__(self) -> None:
        lora = () if self.lora_name is None else (("lora", self.lora_name, self.lora_name),)
        salt = () if self.cache_salt is None else (("cache_salt", self.cache_salt),)
        object.__setattr__(self, "rest", lora or None)
        object.__setattr__(self, "first", lora + salt or None)
        object.__setattr__(self, "raw", cbor(self.first) if self.first else b"")

    def at(self, first: bool) -> tuple[tuple[str, ...], ...] | None:
        """Those of the ``first`` block, or of another one."""
        return self.first if first else self.rest


NO_KEYS = ExtraKeys()
