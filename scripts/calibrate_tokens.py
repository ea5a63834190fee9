"""Compare the built-in token estimate with real BPE vocabularies.

    python scripts/calibrate_tokens.py FOLDER [--texts FILE.json ...] [--floor 0.8]

FOLDER holds tokenizer files: tiktoken's cached vocabularies under their cache names, and `*tokenizer.json` of the
`tokenizers` library. The `litellm` wheel ships five of them in `litellm/litellm_core_utils/tokenizers/`.
FILE.json is an object of text class to list of texts; it adds to the classes built in here.

For each class it prints the estimate divided by the greatest count of the binding vocabularies: over the class, the
least and the fifth percentile of its texts, and the share of texts under the floor; then the ratio to each vocabulary.
Needs tiktoken and tokenizers; no network.
"""

import argparse
import base64
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sized
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIKTOKEN_CACHE_NAMES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "p50k_base": "ec7223a39ce59f226a68acc30dc1af2788490e15",
}
# p50k (2021) splits scripts beyond Latin into bytes; no chat model of today uses it. It is shown, and binds nothing.
NOT_BINDING = {"p50k_base"}

Counter = Callable[[str], int]

PROSE = {
    "english": "I was thinking about the report you sent me last week. Could I have it as a PDF, please? We moved to a "
    "new flat near the river, and the dog loves it. My sister's wedding is in June, so I'm saving up.",
    "german": "Gestern habe ich mit meinen Freunden über die Straßenbahn gesprochen. Wir möchten im Sommer nach Köln "
    "fahren. Der Kunde hat einen Jahresvertrag und zahlt pünktlich.",
    "french": "Hier, nous sommes allés au marché et j'ai acheté des légumes. Mon frère habite à Lyon depuis trois ans. "
    "Est-ce que tu pourrais m'envoyer le rapport ?",
    "chinese": "我昨天在北京的图书馆借了三本书。今天打算去上海看望我的老朋友。客户希望报告用中文写。",
    "japanese": "昨日は東京タワーへ行きました。とても楽しかったです。来週の月曜日までにレポートを送ってください。",
    "korean": "어제 서울에 있는 도서관에서 책을 세 권 빌렸습니다. 다음 주 월요일까지 보고서를 보내 주세요.",
    "thai": "เมื่อวานฉันไปเที่ยวเชียงใหม่กับเพื่อนสนิท อาหารอร่อยมาก สัปดาห์หน้าฉันจะส่งรายงานให้คุณ",
    "russian": "Вчера мы встретились с друзьями в парке и говорили о книгах. "
    "Клиент просит прислать отчёт до понедельника.",
    "arabic": "ذهبت أمس إلى المكتبة مع أصدقائي لقراءة الكتب. من فضلك أرسل التقرير قبل يوم الاثنين.",
    "hebrew": "אתמול הלכתי לספרייה עם החברים שלי. אנא שלח את הדוח עד יום שני.",
    "hindi": "मैं कल अपने दोस्तों के साथ दिल्ली गया था। कृपया सोमवार तक रिपोर्ट भेज दीजिए।",
    "greek": "Χθες πήγα στη βιβλιοθήκη με τους φίλους μου. Στείλε μου την αναφορά μέχρι τη Δευτέρα.",
}
EMOJI = ["😀", "😂", "🥰", "👍🏽", "🎉", "❤️", "🔥", "👩‍💻", "🇫🇷", "🚀", "✨", "🐶", "🍕", "✅", "🙏"]


def noise(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Texts of no language, by class."""
    for _ in range(50):
        data = rng.randbytes(rng.randrange(30, 300))
        yield "base64", base64.b64encode(data).decode()
        yield "hex", data.hex()
        yield "latin1_bytes", data.decode("latin-1")
        yield "digits", "".join(rng.choice("0123456789") for _ in data)
        yield "emoji", "".join(rng.choice(EMOJI) for _ in range(20))
        yield "emoji_in_prose", f"Great trip today {rng.choice(EMOJI)} see you soon {rng.choice(EMOJI)}"
        yield "url", f"https://www.example.com/docs/how-to-cook?id={rng.getrandbits(30)}&ref={data[:6].hex()}"
        yield "json", json.dumps({"id": rng.getrandbits(40), "tags": ["a", "b"], "score": rng.random(), "ok": True})
        yield "whitespace", " " * rng.randrange(1, 40) + "word" + "\n" * rng.randrange(1, 5) + "\t" * 3 + "next word"
        yield "random_letters", " ".join("".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(20))
        yield "random_ascii", "".join(chr(rng.randrange(33, 127)) for _ in data)


def built_in_classes() -> dict[str, list[str]]:
    """Prose, noise and this repository's own sources, by class."""
    classes = {name: [text, *text.split(". ")] for name, text in PROSE.items()}
    for name, text in noise(random.Random(7)):  # noqa: S311 - the same noise each time
        classes.setdefault(name, []).append(text)
    for suffix in ("rs", "py"):
        sources = [path.read_text("utf-8") for path in sorted(ROOT.glob(f"rust/core/**/*.{suffix}"))]
        sources += [path.read_text("utf-8") for path in sorted(ROOT.glob(f"scripts/*.{suffix}"))]
        classes[f"code_{suffix}"] = [text[at : at + 1500] for text in sources for at in range(0, len(text), 1500)][:80]
    return classes


def count_ids(encode: Callable[[str], Sized], text: str) -> int:
    """How many tokens `encode` makes of the text."""
    return len(encode(text))


def load_counters(folder: Path) -> dict[str, Counter]:
    """A counter for each vocabulary found in the folder, by its name."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    import tiktoken  # reads TIKTOKEN_CACHE_DIR
    from tokenizers import Tokenizer

    counters: dict[str, Counter] = {}
    for name, file in TIKTOKEN_CACHE_NAMES.items():
        if (folder / file).exists():
            encode = partial(tiktoken.get_encoding(name).encode, disallowed_special=())
            counters[name] = partial(count_ids, encode)
    for path in sorted(folder.glob("*tokenizer.json")):
        tokenize = partial(Tokenizer.from_file(str(path)).encode, add_special_tokens=False)
        name = path.name.removesuffix("tokenizer.json").strip("_-.") or path.stem
        counters[name] = partial(count_ids, tokenize)
    if not counters:
        sys.exit(f"no tokenizer files in {folder}; see the head of this script for which are looked for")
    return counters


def estimate_all(texts: list[str]) -> list[int]:
    """The built-in estimate of each text, from the Rust core."""
    command = ["cargo", "run", "--quiet", "-p", "retentive-core", "--example", "estimate_tokens"]
    answer = subprocess.run(command, cwd=ROOT, input=json.dumps(texts), text=True, check=True, stdout=subprocess.PIPE)
    return [int(estimate) for estimate in json.loads(answer.stdout)]


def report(name: str, texts: list[str], counters: dict[str, Counter], floor: float) -> float:
    """Prints one line, returns the least ratio."""
    texts = [text for text in texts if text.strip()]
    estimates = estimate_all(texts)
    real = {counter: [count(text) for text in texts] for counter, count in counters.items()}
    binding = [counts for counter, counts in real.items() if counter not in NOT_BINDING]
    greatest = [max(counts) for counts in zip(*binding, strict=True)]
    ratios: list[float] = sorted(estimate / most for estimate, most in zip(estimates, greatest, strict=True))
    under = sum(ratio < floor for ratio in ratios) / len(ratios)
    each = "  ".join(f"{counter[:9]} {sum(estimates) / sum(counts):.2f}" for counter, counts in real.items())
    print(
        f"{name:28} n {len(texts):5}  all {sum(estimates) / sum(greatest):.2f}  least {ratios[0]:.2f}  "
        f"5% {ratios[len(ratios) // 20]:.2f}  under {under:6.2%} | {each}"
    )
    return ratios[0]


def main() -> None:
    """Report every class."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    parser.add_argument("--floor", type=float, default=0.8)
    options = parser.parse_args()
    classes = built_in_classes()
    for path in options.texts:
        classes |= json.loads(path.read_text("utf-8"))
    counters = load_counters(options.folder)
    least = {name: report(name, texts, counters, options.floor) for name, texts in classes.items()}
    worst = min(least, key=least.__getitem__)
    print(f"least ratio of any text: {least[worst]:.2f} ({worst})")


if __name__ == "__main__":
    main()
