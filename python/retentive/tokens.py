"""Counting tokens: the built-in estimate, and the caller's counter, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retentive import _core, _validate
from retentive._errors import CounterError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["estimate_tokens"]


def estimate_tokens(text: str) -> int:
    """Return the built-in estimate of a text's tokens: about four characters each in English prose, other scripts less.

    Examples:
        >>> 2 <= estimate_tokens("a few words here") <= 6
        True
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"text is {_validate.shown(text)}, expected a string")
    _validate.utf8_size(text, "text")
    return _core.estimate_tokens(text)


def callable_name(function: Callable[..., object]) -> str:
    """Return what to call a callable in a message."""
    return getattr(function, "__qualname__", None) or type(function).__name__


def checked_counter(counter: Callable[[str], int]) -> Callable[[str], int]:
    """Return `counter` with its answers checked.

    Raises (when called):
        CounterError: it raised (its exception is the cause), or did not return a whole number: at least 0, and at
            least 1 for a text with something in it.
    """
    name = callable_name(counter)

    def count(text: str) -> int:
        try:
            returned: object = counter(text)
            tokens = _validate.whole_number(returned)
        except Exception as error:
            raise CounterError(f"the token counter {name} raised {type(error).__name__}") from error
        if tokens is None:
            raise CounterError(f"the token counter {name} returned {_validate.shown(returned)}, expected an int")
        if not 0 <= tokens <= _validate.MAX_INT or (tokens == 0 and text and not text.isspace()):
            raise CounterError(
                f"the token counter {name} returned {_validate.shown(tokens)} for a text of {len(text)} characters, "
                "expected the number of its tokens"
            )
        return tokens

    return count
