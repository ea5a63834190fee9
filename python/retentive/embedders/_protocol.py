"""What the library asks of an embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Of an embedder that does not say.
DEFAULT_DENSE_WEIGHT = 0.5


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors. Any object with these four attributes will do.

    The same text must give the same direction at every call and in every process; a collection keeps the vectors of
    its last 16 queries. Vectors are float32, finite and not all zeroes; their length does not matter, since only
    cosines are taken.

    An embedder may also have these attributes; one that is missing, or None, is taken as not known:

    - `noise_floor: float`, the cosine that 98 % of unrelated pairs of query and document stay below.
    - `refusal_floor: float`, what the best `similarity + 0.5 * coverage` of a query must reach in 500 turns to be
      answered at all (texts over 80 tokens count less). Fewer or shorter memories need less, more or longer ones more;
      fewer than ten always answer.
    - `late_interaction(query: str, texts: list[str]) -> [float, ...]`, how well the words of each text answer those of
      the query one by one, from -1 to 1: the mean over the query's tokens of the cosine with the text's nearest one.
    - `late_interaction_floor: float`, with it and in place of `refusal_floor`: what the same sum and the best late
      interaction with the five memories that come nearest, each with the turns said before and after it, a line each,
      must reach together.
    - `dense_weight: float`, the weight from 0 to 1 of its cosine against the lexical score.
    - `window: int`, the longest text, in tokens, that one vector stands for well; longer texts are embedded in parts.
    - `part_tokens: int`, about how many tokens such a part has; without it, as many as the window. A query longer than
      the window is the mean direction of its first and its last sentence.
    - `embed_parts(texts: list[str]) -> list[float32[p, d]]`, the vectors of each text's parts, `p >= 1`, from an
      embedder that knows itself where to cut: called instead of `embed_documents` for what is stored, while
      `embed_query` gets a query of any length.
    - `query_terms(text: str) -> (float32[t, d], [(start, end), ...])`, each token's vector and the characters it
      covers, where the query vector is to be weighted by the statistics of what is searched. Of a query longer than
      the window it is asked for the first and for the last sentence, each alone.
    """

    @property
    def name(self) -> str:
        """What the store keeps as the model's identity."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        ...

    def embed_documents(self, texts: list[str], /) -> npt.NDArray[np.float32]:
        """Return one row a text, float32 `[len(texts), dimension]`."""
        ...

    def embed_query(self, text: str, /) -> npt.NDArray[np.float32]:
        """Return the vector to search with, float32 `[dimension]`."""
        ...


class AsyncEmbedder(Protocol):
    """An `Embedder` whose methods are coroutine functions, for collections that are used through their async twins.

    The coroutines are awaited on the loop of whoever awaits the twin; a blocking method raises `ConfigurationError`.
    All else, the optional attributes too, is as `Embedder` says; `embed_parts`, `query_terms` and
    `late_interaction` may be async as well.
    """

    @property
    def name(self) -> str:
        """What the store keeps as the model's identity."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        ...

    async def embed_documents(self, texts: list[str], /) -> npt.NDArray[np.float32]:
        """Return one row a text, float32 `[len(texts), dimension]`."""
        ...

    async def embed_query(self, text: str, /) -> npt.NDArray[np.float32]:
        """Return the vector to search with, float32 `[dimension]`."""
        ...
