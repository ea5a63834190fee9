"""An ONNX model with its tokenizer, loaded: token numbers in, vectors out."""

from __future__ import annotations

import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from retentive import _fork
from retentive._errors import ConfigurationError
from retentive._whole import import_whole
from retentive.embedders._tokens import encoded
from retentive.embedders._windows import ends, sentence_borders, windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from retentive.embedders._folder import ModelFolder

    Floats = npt.NDArray[np.float32]
    Ids = npt.NDArray[np.int64]
    Spans = Callable[[int, Sequence[int]], Iterable[tuple[int, int]]]

# Padded tokens a run: bounds what the activations take, about 50 MB for a small model.
BATCH_TOKENS = 1_024
# Characters tokenised at once: the tokenizer takes 160 bytes for each.
_BLOCK = 65_536
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
_SAMPLES = ("Yes.", "I keep the spare key under the third flower pot, next to the shed that we painted in May.")
_SAME = 0.99999


class Session:
    """A model in this process. Can be used from many threads.

    Args:
        folder: the files.
        pooling: `cls` or `mean`.

    Raises:
        ConfigurationError: the files cannot be loaded, or are of another kind of model.
    """

    def __init__(self, folder: ModelFolder, pooling: str) -> None:
        self._pooling = pooling
        self._pad_id = folder.pad_id
        try:
            self._tokenizer = _tokenizer(folder)
            self._model = _model(folder)
        except Exception as error:  # the libraries' own classes are not public
            raise ConfigurationError(
                f"{folder.model} cannot be loaded: {error}", hint="copy the model's files again"
            ) from error
        self._types = {
            item.name: "int32" if item.type == "tensor(int32)" else "int64" for item in self._model.get_inputs()
        }
        self._output = self._token_vectors(folder)
        self._head, self._tail = self._special_tokens()
        self._batches = True
        self.dimension = 0
        self._try_out()

    def special_count(self, prefix: str) -> int:
        """Return how many tokens of a part are not the text's: special ones and the prefix."""
        return len(self._head) + len(self._tail) + len(self._encode(prefix, 0)[0])

    def parts(self, text: str, prefix: str, window: int, part_tokens: int) -> list[Ids]:
        """Return a text's token numbers, whole where they fit into the window, else in parts, each with the prefix."""
        return self._cut(text, prefix, window, partial(windows, room=part_tokens))

    def ends(self, text: str, prefix: str, window: int) -> list[Ids]:
        """Return the token numbers of a text, of its first and its last sentence where it does not fit the window."""
        return self._cut(text, prefix, window, ends)

    def _cut(self, text: str, prefix: str, window: int, spans: Spans) -> list[Ids]:
        import numpy as np

        ids, starts = self._tokens(prefix + text, len(prefix))
        first = int(np.searchsorted(starts, len(prefix)))
        if len(ids) + len(self._head) + len(self._tail) <= window:
            return [self._framed(ids)]
        borders = [border - first for border in sentence_borders(prefix + text, starts.tolist()) if border > first]
        return [
            self._framed(np.concatenate([ids[:first], ids[first + start : first + end]]))
            for start, end in spans(len(ids) - first, borders)
        ]

    def embed(self, parts: Sequence[Ids]) -> Floats:
        """Return one vector of length 1 a part, float32 `[len(parts), dimension]`, in order."""
        import numpy as np

        rows = np.empty((len(parts), self.dimension), np.float32)
        for batch in self._in_batches(parts):
            rows[batch] = self._run([parts[index] for index in batch])
        return rows

    def _in_batches(self, parts: Sequence[Ids]) -> Iterator[list[int]]:
        """Yield which parts to run together: of about the same length, and of a bounded number of tokens."""
        batch: list[int] = []
        for index in sorted(range(len(parts)), key=lambda index: len(parts[index])):
            if batch and (not self._batches or (len(batch) + 1) * len(parts[index]) > BATCH_TOKENS):
                yield batch
                batch = []
            batch.append(index)
        if batch:
            yield batch

    def _run(self, parts: Sequence[Ids]) -> Floats:
        import numpy as np

        ids = np.full((len(parts), max(map(len, parts))), self._pad_id, np.int64)
        mask = np.zeros_like(ids)
        for row, part in enumerate(parts):
            ids[row, : len(part)] = part
            mask[row, : len(part)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        inputs = {name: feed[name].astype(kind, copy=False) for name, kind in self._types.items()}
        vectors = self._model.run([self._output], inputs)[0].astype(np.float32, copy=False)
        if self._pooling == "cls":
            return unit(vectors[:, 0])
        return unit(np.einsum("btd,bt->bd", vectors, mask.astype(np.float32)))

    def _tokens(self, text: str, prefix_length: int) -> tuple[Ids, npt.NDArray[np.int64]]:
        """Return token numbers without special ones, and the character that each starts at."""
        import numpy as np

        if len(text) <= _BLOCK:
            return self._encode(text, 0)
        blocks = [self._encode(text[start:end], start) for start, end in _blocks(text, prefix_length)]
        return np.concatenate([ids for ids, _ in blocks]), np.concatenate([starts for _, starts in blocks])

    def _encode(self, text: str, offset: int) -> tuple[Ids, npt.NDArray[np.int64]]:
        import numpy as np

        # One at a time: the tokenizer's own batches start a thread pool, which a forked child can hang on.
        encoding = encoded(self._tokenizer, text)
        starts = np.array([start for start, _ in encoding.offsets], np.int64)
        return np.array(encoding.ids, np.int64), starts + offset

    def _framed(self, ids: Ids) -> Ids:
        import numpy as np

        return np.concatenate([self._head, ids, self._tail])

    def _special_tokens(self) -> tuple[Ids, Ids]:
        """Return what the tokenizer puts before and after a text."""
        import numpy as np

        encoding = self._tokenizer.encode("a")
        ids, own = np.array(encoding.ids, np.int64), np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
        return ids[: own[0]], ids[own[-1] + 1 :]

    def _token_vectors(self, folder: ModelFolder) -> str:
        """Return the name of the output with one vector a token."""
        if not set(self._types) <= _INPUTS or "input_ids" not in self._types:
            raise ConfigurationError(
                f"{folder.model} takes {', '.join(sorted(self._types))}, expected of {', '.join(sorted(_INPUTS))}",
                hint="export the encoder alone, for feature extraction",
            )
        outputs = self._model.get_outputs()
        for output in outputs:
            if len(output.shape or ()) == 3:
                return str(output.name)
        raise ConfigurationError(
            f"{folder.model} returns {', '.join(output.name for output in outputs)}, none of shape [batch, tokens, d]",
            hint="export it for feature extraction, with its last hidden state",
        )

    def _try_out(self) -> None:
        """Find the dimension, and whether a vector stays what it is when texts are run together.

        Where activations are quantised by the range of the whole batch it does not: bge-small in int8 then gives
        cosines of 0.991 to the same text alone, and is slower too.
        """
        import numpy as np

        parts = [self._framed(self._encode(text, 0)[0]) for text in _SAMPLES]
        alone = np.concatenate([self._run([part]) for part in parts])
        self.dimension = alone.shape[1]
        self._batches = bool(np.einsum("nd,nd->n", alone, self._run(parts)).min() > _SAME)


class PerProcess:
    """A session that is loaded at first use, once a process: a forked child loads its own."""

    def __init__(self, load: Callable[[], Session]) -> None:
        self._load = load
        self._loaded: tuple[int, Session] | None = None

    def get(self) -> Session:
        """Return this process's session."""
        loaded = self._loaded
        if loaded is None or loaded[0] != os.getpid():
            with _LOADING.lock:
                loaded = self._loaded
                if loaded is None or loaded[0] != os.getpid():
                    self._loaded = loaded = (os.getpid(), self._load())
        return loaded[1]

    def __reduce__(self) -> tuple[type[PerProcess], tuple[Callable[[], Session]]]:
        """What is loaded stays here: a copy in another process loads its own."""
        return PerProcess, (self._load,)


class _Loading:
    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal handler that embeds while this thread loads, loads for itself

    def renew(self) -> None:
        """In a forked child, the thread that held the lock does not exist."""
        self.lock = threading.RLock()


_LOADING = _Loading()
_fork.in_child(_LOADING.renew)


def unit(vectors: Floats) -> Floats:
    """Return vectors at length 1."""
    import numpy as np

    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    scaled: Floats = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)[:, np.newaxis]
    return scaled


def _blocks(text: str, at_least: int) -> Iterator[tuple[int, int]]:
    """Yield pieces of a long text that end before white space where there is any, the first beyond `at_least`."""
    start = 0
    while len(text) - start > _BLOCK:
        lowest = max(start, at_least) + 1
        end = max(text.rfind(space, lowest, start + _BLOCK) for space in (" ", "\n", "\t"))
        end = start + _BLOCK if end < lowest else end
        yield start, end
        start = end
    yield start, len(text)


@_fork.held_back()
def _tokenizer(folder: ModelFolder) -> Any:
    import_whole("numpy", "tokenizers")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder.tokenizer))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # what looks like one in a text is text
    return tokenizer


@_fork.held_back()
def _model(folder: ModelFolder) -> Any:
    import_whole("numpy", "onnxruntime")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    # An arena keeps what its largest run took.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3  # errors
    return onnxruntime.InferenceSession(str(folder.model), options, providers=["CPUExecutionProvider"])
