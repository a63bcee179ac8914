"""A table of names whose values are in modules of their own, imported at their first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

from tonnage.delayed_signals import late_signals

T = TypeVar("T")


class OnDemand(Mapping[str, T], Generic[T]):
    """Name → what ``module:name`` is. Listing the names imports nothing; a run needs one or two values."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            module, _, attribute = self._places[name].partition(":")
            with late_signals():
                self._loaded[name] = getattr(import_module(module), attribute)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
