"""The teacher's vectors: its CLS output for texts and for single tokens, cached in a work folder."""

# The checks run without what only training needs.
# mypy: disable-error-code="import-untyped, import-not-found"

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
from tokenizers import Tokenizer

Floats = npt.NDArray[np.float32]
MAX_TOKENS = 512
BATCH = 64


class Teacher:
    """A BERT-like sentence encoder in a folder with `model.onnx` and `tokenizer.json`, read at its CLS token."""

    def __init__(self, folder: Path, threads: int = 2) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.model = folder / "model.onnx"
        self._session = onnxruntime.InferenceSession(str(self.model), options, providers=["CPUExecutionProvider"])
        self._inputs = {node.name for node in self._session.get_inputs()}
        self.tokenizer = load_tokenizer(folder)
        self.tokenizer.enable_truncation(MAX_TOKENS)

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        """Return the CLS vectors of `texts`, float32 `[len(texts), width]`, not normalised."""
        return self.encode_ids([encoding.ids for encoding in self.tokenizer.encode_batch_fast(list(texts))])

    def encode_tokens(self) -> Floats:
        """Return the mean output for `[CLS] token [SEP]` of every token, in the order of their ids."""
        cls, *_, sep = self.tokenizer.encode("").ids
        return self.encode_ids([[cls, token, sep] for token in range(self.tokenizer.get_vocab_size())], mean=True)

    def encode_ids(self, sequences: Sequence[Sequence[int]], *, mean: bool = False) -> Floats:
        """Encode id sequences, shortest first: padding costs as much time as text."""
        order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
        batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
        out: Floats | None = None
        started = time.monotonic()
        for done, rows in enumerate(batches, 1):
            vectors = self._run([sequences[row] for row in rows], mean=mean)
            if out is None:
                out = np.empty((len(sequences), vectors.shape[1]), np.float32)
            out[rows] = vectors
            if done % 100 == 0:
                print(f"  teacher: {done}/{len(batches)} batches, {time.monotonic() - started:.0f} s", flush=True)
        if out is None:
            raise ValueError("nothing to encode")
        return out

    def _run(self, sequences: Sequence[Sequence[int]], *, mean: bool) -> Floats:
        longest = max(map(len, sequences))
        ids = np.zeros((len(sequences), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden: Floats = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        if not mean:
            return hidden[:, 0]
        weights = mask[:, :, None].astype(np.float32)
        pooled: Floats = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return pooled


def load_tokenizer(folder: Path) -> Tokenizer:
    """Return the folder's tokenizer without truncation and padding."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def cached_texts(folder: Path, texts: Sequence[str], work: Path) -> Floats:
    """Return the teacher's vectors of `texts`, from `work` when a run before left them there."""
    return _cached(folder, "\0".join(texts), work, lambda teacher: teacher.encode_texts(texts))


def cached_tokens(folder: Path, work: Path) -> Floats:
    """Return the teacher's vectors of all tokens, from `work` when a run before left them there."""
    return _cached(folder, "every token", work, lambda teacher: teacher.encode_tokens())


def _cached(folder: Path, inputs: str, work: Path, encode: Callable[[Teacher], Floats]) -> Floats:
    digest = hashlib.sha256((folder / "model.onnx").read_bytes())
    digest.update((folder / "tokenizer.json").read_bytes())
    digest.update(inputs.encode())
    path = work / f"teacher-{digest.hexdigest()[:16]}.npy"
    if not path.exists():
        work.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial.npy")
        np.save(partial, encode(Teacher(folder)))
        partial.replace(path)
    vectors: Floats = np.load(path)
    return vectors
