"""A text's tokens by a model's own tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retentive import _validate

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


def encoded(tokenizer: Tokenizer, text: str) -> Encoding:
    """Return a text's tokens, without special ones.

    Raises:
        InvalidInputError: the text has half of a surrogate pair, which the tokenizer says is no string.
    """
    try:
        return tokenizer.encode(text, add_special_tokens=False)
    except TypeError:
        if isinstance(text, str):
            _validate.utf8_size(text, "the text")
        raise
