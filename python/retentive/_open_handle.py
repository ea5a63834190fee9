"""What holds a file open: one object for each time it was opened."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex


class OpenHandle:
    """Refuses to be copied or pickled: closing a copy would close the original, and no other process has its locks."""

    __slots__ = ()

    _known_as: ClassVar[str | None] = None  # what a message calls it; None for its class

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse `copy.copy`, `copy.deepcopy` and `pickle`.

        Raises:
            TypeError: always; its message says what to do.
        """
        raise TypeError(
            f"cannot copy or pickle a {self._known_as or type(self).__name__}: it holds a file open, or memories that "
            "are nowhere else; pass its name and path and open it again there, or use backup() for a copy of what it "
            "has"
        )
