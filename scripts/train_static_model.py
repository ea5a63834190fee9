"""Train the static model that ships in `python/retentive/models/static`.

    pip install -r scripts/requirements-train.txt
    apt-get install wordnet-base
    python scripts/train_static_model.py --teacher FOLDER --work FOLDER

The teacher's folder holds bge-small-en-v1.5 as `model.onnx` and `tokenizer.json`. Its vectors are kept in the work
folder, so only the first run takes ten minutes. The same inputs give the same bytes on the same machine.
"""

import argparse
import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from static_model import regression, teacher, wordnet

TEXTS = 110_000
SEED = 7
DIMENSION = 256
HELD_OUT = 5_000

NAME = "retentive-static-256"
VERSION = 1
SHIPPED = Path(__file__).parents[1] / "python" / "retentive" / "models" / "static"
ABOUT: dict[str, Any] = {
    "name": NAME,
    "version": VERSION,
    "dimension": DIMENSION,
    "dense_weight": 0.5,
    "teacher": "BAAI/bge-small-en-v1.5",
    "licences": {"teacher and tokenizer": "MIT (BAAI)", "training texts": "WordNet 3.0 (Princeton University)"},
}


def main() -> None:
    """Read the arguments, train, write the model, print how well it fits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--teacher", type=Path, required=True, help="folder with model.onnx and tokenizer.json")
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"), help="folder with data.noun ...")
    parser.add_argument("--work", type=Path, required=True, help="folder for the teacher's vectors")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder the model is written to")
    arguments = parser.parse_args()

    every = wordnet.read_texts(arguments.wordnet)
    texts = wordnet.draw(every, TEXTS, SEED)
    vectors = teacher.cached_texts(arguments.teacher, texts, arguments.work)
    token_vectors = teacher.cached_tokens(arguments.teacher, arguments.work)
    rows, scale, projection = train(_token_ids(arguments.teacher, texts), vectors, token_vectors)

    drawn = set(texts)
    unseen = wordnet.draw([text for text in every if text not in drawn], HELD_OUT, SEED)
    unseen_vectors = teacher.cached_texts(arguments.teacher, unseen, arguments.work)
    for label, sample, known in (("training", texts, vectors), ("unseen", unseen, unseen_vectors)):
        counts = regression.mean_matrix(_token_ids(arguments.teacher, sample), len(rows))
        target = regression.normalised(projection.apply(regression.normalised(known)))
        print(f"mean cosine to the teacher, {label} texts: {regression.mean_cosine(counts, rows, scale, target):.4f}")
    print("sha256 of the vectors:", write(arguments.out, arguments.teacher, rows, scale))


def train(
    sequences: Sequence[Sequence[int]], vectors: regression.Floats, token_vectors: regression.Floats
) -> tuple[npt.NDArray[np.int8], regression.Floats, regression.Projection]:
    """Return int8 token vectors, their scales, and the projection that made the targets."""
    unit = regression.normalised(vectors)
    projection = regression.principal_components(unit, DIMENSION)
    target = regression.normalised(projection.apply(unit))
    counts = regression.mean_matrix(sequences, len(token_vectors))
    start = regression.prior(token_vectors, projection, counts, target)
    rows, scale = regression.quantise(regression.fit(counts, target, start))
    return rows, scale, projection


def write(out: Path, teacher_folder: Path, rows: npt.NDArray[np.int8], scale: regression.Floats) -> str:
    """Write the model's files; keep the floors that `calibrate_floors.py` put there; return the vectors' sha256."""
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "vectors.npy", rows)
    np.save(out / "scale.npy", scale)
    shutil.copyfile(teacher_folder / "tokenizer.json", out / "tokenizer.json")
    digest = hashlib.sha256(rows.tobytes() + scale.tobytes()).hexdigest()
    about = out / "model.json"
    floors = json.loads(about.read_text()) if about.exists() else {}
    kept = {key: floors[key] for key in ("noise_floor", "refusal_floor") if key in floors}
    about.write_text(json.dumps({**ABOUT, "sha256": digest, **kept}, indent=2) + "\n")
    return digest


def _token_ids(folder: Path, texts: Sequence[str]) -> list[list[int]]:
    tokenizer = teacher.load_tokenizer(folder)
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


if __name__ == "__main__":
    main()
