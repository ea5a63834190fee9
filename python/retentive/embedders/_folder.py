"""What the files of a model's folder say about it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retentive._errors import ConfigurationError
from retentive._files import refuse_open_database
from retentive.embedders._known import KnownModel, recognised

MODEL_FILES = ("model.onnx", "onnx/model.onnx")
TOKENIZER = "tokenizer.json"
# Read where present; the last three are written by sentence-transformers.
DESCRIPTIONS = (
    "config.json",
    "tokenizer_config.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
)
_NO_LIMIT = 1_000_000
_SHOWN = 5  # files in a message
# These count positions from the padding token's number + 1.
_OFFSET_POSITIONS = {"camembert": 2, "roberta": 2, "xlm-roberta": 2}


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with an ONNX model and its tokenizer; None for what it does not say.

    Attributes:
        window: the tokens it was made for, `positions` those that it can take.
    """

    model: Path
    tokenizer: Path
    known: KnownModel | None
    stated_name: str | None
    pooling: str | None
    window: int | None
    positions: int | None
    dimension: int | None
    query_prefix: str
    document_prefix: str
    pad_id: int

    @property
    def name(self) -> str:
        """The model's identity, which does not change when the folder is moved."""
        if self.known is not None:
            return self.known.name
        return self.stated_name or f"onnx-{_digest(self.model)[:16]}"


def read_folder(folder: Path, file: str | None) -> ModelFolder:
    """Return what is in a folder.

    Args:
        folder: where the model is.
        file: the model's file in it; None for `model.onnx` or `onnx/model.onnx`.

    Raises:
        ConfigurationError: the model or its tokenizer is missing, or a description is not JSON.
        InvalidInputError: one of the files is a collection's that is open.
    """
    model = _model_file(folder, file)
    for named in (model, *(folder / name for name in (TOKENIZER, *DESCRIPTIONS))):
        refuse_open_database(named, "a file of the model")
    if not (folder / TOKENIZER).is_file():
        raise ConfigurationError(
            f"{folder} has no {TOKENIZER}, which the model in it needs", hint="save the model's fast tokenizer there"
        )
    config, tokenizer, pooling, sentences, prompts = (_description(folder / name) for name in DESCRIPTIONS)
    stated = _stated_name(config) or _stated_name(tokenizer)
    texts = prompts.get("prompts") or {}
    return ModelFolder(
        model=model,
        tokenizer=folder / TOKENIZER,
        known=recognised(stated or "") or recognised(_folder_name(folder)),
        stated_name=stated,
        pooling=_pooling(pooling),
        window=_least(sentences.get("max_seq_length"), tokenizer.get("model_max_length"), _positions(config)),
        positions=_positions(config),
        dimension=_positive(config.get("hidden_size")),
        query_prefix=str(texts.get("query") or ""),
        document_prefix=str(texts.get("document") or texts.get("passage") or ""),
        pad_id=config["pad_token_id"] if isinstance(config.get("pad_token_id"), int) else 0,
    )


def has_model(folder: Path, file: str | None) -> bool:
    """Tell whether a folder has what is needed to embed."""
    names = MODEL_FILES if file is None else (file,)
    return (folder / TOKENIZER).is_file() and any((folder / name).is_file() for name in names)


def _model_file(folder: Path, file: str | None) -> Path:
    names = MODEL_FILES if file is None else (file,)
    for name in names:
        if (folder / name).is_file():
            return folder / name
    near = (path for pattern in ("*.onnx", "*/*.onnx") for path in folder.glob(pattern))
    others = sorted(path.relative_to(folder).as_posix() for path in near)
    more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    found = f"it has {', '.join(others[:_SHOWN])}{more}" if others else "it has no file of that kind"
    hint = f"name one with file={others[0]!r}" if others else "export the model to ONNX, or pass the folder that has it"
    raise ConfigurationError(f"{folder} has no {' or '.join(names)}; {found}", hint=hint)


def _description(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigurationError(f"{path} is not JSON: {error}", hint="copy the model's files again") from error
    return content if isinstance(content, dict) else {}


def _folder_name(folder: Path) -> str:
    """Return the folder's name, or the model's where it is in the cache of huggingface_hub."""
    absolute = folder.absolute()
    if absolute.parent.name == "snapshots":  # models--OWNER--NAME/snapshots/COMMIT
        return absolute.parent.parent.name.rpartition("--")[2]
    return absolute.name


def _stated_name(description: dict[str, Any]) -> str | None:
    stated = description.get("_name_or_path") or description.get("name_or_path")
    return Path(stated).name or None if isinstance(stated, str) else None


def _pooling(description: dict[str, Any]) -> str | None:
    modes = {name for name, used in description.items() if name.startswith("pooling_mode_") and used is True}
    return {frozenset({"pooling_mode_cls_token"}): "cls", frozenset({"pooling_mode_mean_tokens"}): "mean"}.get(
        frozenset(modes)
    )


def _positions(config: dict[str, Any]) -> int | None:
    positions = _positive(config.get("max_position_embeddings"))
    return None if positions is None else positions - _OFFSET_POSITIONS.get(str(config.get("model_type")), 0)


def _least(*stated: object) -> int | None:
    # A tokenizer without a limit states 10^30.
    limits = [limit for limit in map(_positive, stated) if limit is not None and limit < _NO_LIMIT]
    return min(limits, default=None)


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
