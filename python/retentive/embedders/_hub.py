"""Models in the cache of `huggingface_hub`, and the only place from which retentive reaches for a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from retentive._errors import ConfigurationError
from retentive.embedders._folder import DESCRIPTIONS, MODEL_FILES, TOKENIZER, has_model

if TYPE_CHECKING:
    from retentive.embedders._known import KnownModel


def cached_folder(known: KnownModel, file: str | None, *, download: bool) -> Path:
    """Return the folder of a known model: from the cache, or downloaded into it where that was asked for.

    What is in the cache is taken from there without a network, `download` or not.

    Raises:
        ConfigurationError: `huggingface_hub` is missing, the model is not in the cache, or the download failed.
    """
    folder = _snapshot(known, file, offline=True)
    if folder is None and download:
        folder = _snapshot(known, file, offline=False)
    if folder is None:
        raise ConfigurationError(
            f"the model {known.name} is not on this machine"
            + (f": {known.repository} has no {file}" if download and file else ""),
            hint=f"pass the folder it is in, or OnnxEmbedder({known.name!r}, download=True)",
        )
    return folder


def _snapshot(known: KnownModel, file: str | None, *, offline: bool) -> Path | None:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ImportError as error:
        raise ConfigurationError(
            "a model named without its folder needs huggingface_hub", hint='pip install "retentive[onnx]"'
        ) from error
    wanted = [file or MODEL_FILES[1], f"{file or MODEL_FILES[1]}_data", TOKENIZER, *DESCRIPTIONS]
    try:
        folder = Path(snapshot_download(known.repository, allow_patterns=wanted, local_files_only=offline))
    except LocalEntryNotFoundError as error:
        if offline:
            return None
        raise _failed(known, error) from error
    except Exception as error:  # of whichever HTTP library it is built on
        raise _failed(known, error) from error
    return folder if has_model(folder, file) else None


def _failed(known: KnownModel, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"{known.repository} could not be downloaded: {error}",
        hint="check the network, or pass a folder with model.onnx and tokenizer.json",
    )
