"""What was used last, up to a bound: for what is dear to make and asked for again and again."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """Values by their keys; of all together ``most``, in the unit in which each is weighed. The one put last is always kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._all = 0
        self._lock = threading.Lock()
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """The value of a key; None: it is not kept, or not any more."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Key, value: Value, weight: int) -> None:
        """Keep a value; those that were not used for longest go."""
        with self._lock:
            before = self._values.pop(key, None)
            self._values[key] = value, weight
            self._all += weight - (0 if before is None else before[1])
            while self._all > self._most and len(self._values) > 1:
                self._all -= self._values.popitem(last=False)[1][1]
