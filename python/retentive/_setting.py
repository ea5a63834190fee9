"""A setting: an attribute that is checked whenever it is set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

    from retentive.memory import ConversationMemory

T = TypeVar("T")


class Setting(Generic[T]):
    """A checked attribute of `ConversationMemory`. `check(name, value)` returns what is kept, or raises."""

    def __init__(self, check: Callable[[str, object], T], doc: str) -> None:
        self._check = check
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._kept = f"_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[T]: ...
    @overload
    def __get__(self, instance: ConversationMemory, owner: type) -> T: ...
    def __get__(self, instance: ConversationMemory | None, owner: type) -> T | Setting[T]:
        if instance is None:
            return self
        kept: T = getattr(instance, self._kept)
        return kept

    def __set__(self, instance: ConversationMemory, value: T) -> None:
        setattr(instance, self._kept, self._check(self._name, value))
