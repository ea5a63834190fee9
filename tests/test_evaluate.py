"""`python -m retentive.evaluate`: the metric, the formats, what it refuses, what it writes."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import retentive
from retentive.embedders import HashEmbedder
from retentive.evaluate import locomo, longmemeval
from retentive.evaluate.__main__ import main
from retentive.evaluate.conversations import DataError
from retentive.evaluate.embedder import TokenVectors, embedder_for, embedder_or_pair_for
from retentive.evaluate.measure import Run, Settings, measure, measure_runs
from retentive.evaluate.progress import Progress
from retentive.evaluate.report import figures
from retentive.evaluate.tables import grid, markdown
from retentive.evaluate.ways import Way, ways

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


def write(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def locomo_content():
    def said(number, index, speaker, text, **more):
        return {"speaker": speaker, "dia_id": f"D{number}:{index}", "text": text, **more}

    first = [
        said(1, 1, "Ada", "My kayak is painted orange."),
        said(1, 2, "Ben", "I keep three beehives on the roof."),
        said(1, 3, "Ada", "Look at this!", blip_caption="a photo of a lighthouse in fog"),
    ]
    second = [
        said(2, 1, "Ben", "The zeppelin museum opens on Friday."),
        said(2, 2, "Ada", "   "),
        said(2, 3, "Ada", "I burned the lasagne again."),
    ]
    questions = [
        {"question": "What colour is the kayak?", "evidence": ["D1:1"], "category": 4},
        {"question": "Who has beehives and a lighthouse photo?", "evidence": ["D1:2; D1:3"], "category": 1},
        {"question": "When does the zeppelin museum open?", "evidence": ["D:2:1", "D"], "category": 2},
        {"question": "Who flew to the moon?", "evidence": ["D1:1"], "category": 5},
        {"question": "Nothing labelled?", "evidence": ["D9:9"], "category": 3},
    ]
    conversation = {
        "session_2": second,
        "session_2_date_time": "9:05 am on 20 June, 2023",
        "session_1": first,
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_10_date_time": "1:00 pm on 1 July, 2023",
    }
    return [{"sample_id": "conv-1", "conversation": conversation, "qa": questions}]


def longmemeval_content():
    def entry(identity, **more):
        return {
            "question_id": identity,
            "question_type": "single-session-user",
            "question": "Which instrument do I play?",
            "question_date": "2023/06/10 (Sat) 08:19",
            "haystack_dates": ["2023/05/27 (Sat) 10:13", "2023/05/25 (Thu) 19:20"],
            "haystack_sessions": [
                [
                    {"role": "user", "content": "I play the bassoon in an orchestra.", "has_answer": True},
                    {"role": "assistant", "content": "What a fine instrument."},
                ],
                [{"role": "user", "content": "Tell me about volcanoes."}, {"role": "assistant", "content": ""}],
            ],
            **more,
        }

    unlabelled = [[{"role": "user", "content": "Hello."}], [{"role": "user", "content": "Hello again."}]]
    return [entry("q1"), entry("q2_abs"), entry("q3", haystack_sessions=unlabelled)]


@pytest.fixture
def locomo_file(tmp_path):
    return write(tmp_path / "locomo.json", locomo_content())


@pytest.fixture
def longmemeval_file(tmp_path):
    return write(tmp_path / "longmemeval.json", longmemeval_content())


@pytest.fixture
def settings():
    return Settings(HashEmbedder(64))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["D1:3"], ["D1:3"]),
        (["D8:6; D9:17"], ["D8:6", "D9:17"]),
        (["D1:18", "D", "D1:20"], ["D1:18", "D1:20"]),
        (["D:11:26"], ["D11:26"]),
        ([" D 1 : 03 ", "D1:3"], ["D1:3"]),
        (["D9:1 D4:4 D4:6"], ["D9:1", "D4:4", "D4:6"]),
        ([], []),
    ],
)
def test_locomo_evidence_is_parsed_however_it_is_written(written, expected):
    assert locomo.evidence_ids(written) == expected


def test_locomo_turns_keep_order_speaker_caption_and_date(locomo_file):
    (conversation,) = locomo.load(locomo_file).conversations
    assert [turn.id for turn in conversation.turns] == ["D1:1", "D1:2", "D1:3", "D2:1", "D2:3"]
    assert {turn.role for turn in conversation.turns} == {"user"}
    assert [turn.name for turn in conversation.turns] == ["Ada", "Ben", "Ada", "Ben", "Ada"]
    assert conversation.turns[2].text == "Look at this! [a photo of a lighthouse in fog]"
    times = [turn.timestamp for turn in conversation.turns]
    assert times == sorted(set(times))
    assert times[0] == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert conversation.questions[0].now == times[-1] + timedelta(days=1)


def test_locomo_questions_without_evidence_or_adversarial_are_counted_as_skipped(locomo_file):
    dataset = locomo.load(locomo_file)
    questions = dataset.conversations[0].questions
    assert [question.category for question in questions] == ["single-hop", "multi-hop", "temporal"]
    assert [sorted(question.evidence) for question in questions] == [["D1:1"], ["D1:2", "D1:3"], ["D2:1"]]
    assert dataset.skipped == {"adversarial": 1, "without labelled turns": 1}


def test_longmemeval_orders_sessions_by_date_and_takes_the_labelled_turns(longmemeval_file):
    dataset = longmemeval.load(longmemeval_file)
    (conversation,) = dataset.conversations
    assert [turn.text for turn in conversation.turns] == [
        "Tell me about volcanoes.",
        "I play the bassoon in an orchestra.",
        "What a fine instrument.",
    ]
    assert [turn.role for turn in conversation.turns] == ["user", "user", "assistant"]
    (question,) = conversation.questions
    labelled = [turn.text for turn in conversation.turns if turn.id in question.evidence]
    assert labelled == ["I play the bassoon in an orchestra."]
    assert question.now == datetime(2023, 6, 10, 8, 19, tzinfo=UTC)
    assert dataset.skipped == {"abstention": 1, "without labelled turns": 1}


def test_first_keeps_that_many_questions_in_order(locomo_file):
    dataset = locomo.load(locomo_file).first(2)
    assert [question.id for question in dataset.conversations[0].questions] == ["conv-1:0", "conv-1:1"]
    assert dataset.first(None) is dataset


def test_evidence_is_the_share_of_the_labelled_turns_that_came_back(locomo_file, settings):
    dataset = locomo.load(locomo_file)
    everything = measure(dataset, [Way(call, limit=5) for call in ("recall", "search", "cosine")], settings)
    assert [outcome.evidence for outcome in everything] == [1.0] * 9
    one = measure(dataset, [Way("recall", limit=1)], settings)
    assert one[1].labels == 2
    assert one[1].evidence in {0.0, 0.5}
    assert one[0].evidence == 1.0


def test_budget_rows_stay_inside_the_budget(locomo_file, settings):
    rows = [way for way in ways([], [40]) if way.token_budget]
    outcomes = measure(locomo.load(locomo_file), rows, settings)
    blocks = {"context", "excerpts", "defaults", "defaults_whole"}
    assert {outcome.way.call for outcome in outcomes} == blocks | {"recall", "search", "cosine"}
    assert all(outcome.tokens <= 40 for outcome in outcomes)
    assert any(outcome.memories > 0 for outcome in outcomes)


def test_default_calls_are_the_first_rows_and_pass_nothing_but_the_session_and_the_time(locomo_file, settings):
    first, second, *_ = ways([1], [40])
    assert (first.key, second.key) == ("recall-default", "context-default")
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        for verb in ("recall", "context"):
            real = getattr(retentive.Collection, verb)
            patch.setattr(
                retentive.Collection,
                verb,
                lambda db, *args, real=real, **options: seen.append(sorted(options)) or real(db, *args, **options),
            )
        measure(locomo.load(locomo_file).first(1), [first, second], settings)
    assert seen == [["now", "session"]] * 2


def test_overridden_signals_reach_the_ranking(locomo_file):
    seen = []

    class Spy(retentive.ConversationMemory):
        def __init__(self, db, **options):
            seen.append(options)
            super().__init__(db, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retentive, "ConversationMemory", Spy)
        measure(locomo.load(locomo_file), [Way("recall", limit=1)], Settings(HashEmbedder(64), {"role": 0.0}))
    assert seen[-1]["signals"] == {"role": 0.0}


def test_measure_reports_progress_up_to_the_last_question(locomo_file, settings):
    seen = []
    measure(locomo.load(locomo_file), [Way("recall", limit=1)], settings, lambda *at: seen.append(at))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_progress_is_silent_where_there_is_no_terminal(capsys):
    with Progress() as progress:
        progress(1, 2)
    assert capsys.readouterr() == ("", "")


def test_progress_draws_and_clears_a_line_on_a_terminal():
    class Terminal:
        written = ""

        def isatty(self):
            return True

        def write(self, text):
            self.written += text

        def flush(self):
            pass

    terminal = Terminal()
    with Progress(terminal) as progress:
        progress(3, 3)
    assert "3 of 3 questions" in terminal.written
    assert terminal.written.endswith("\r\x1b[2K")


def test_tables_are_markdown_with_all_rows_and_categories(locomo_file, settings):
    dataset = locomo.load(locomo_file)
    measured = measure_runs(dataset, [Run("plain", settings, ways([1], [40]))])
    text = markdown(figures(dataset, measured, {}))
    grids = [line for line in text.splitlines() if line.startswith("|")]
    assert sum("| recall" in line for line in grids) == 6
    assert all(line.endswith("|") for line in grids)
    assert "multi-hop (1)" in text
    assert len({len(line) for line in grids[:12]}) == 1


def test_grid_puts_numbers_to_the_right():
    assert grid(["name", "n"], [["a", "1"], ["b", "12"]]) == [
        "| name |  n |",
        "|------|---:|",
        "| a    |  1 |",
        "| b    | 12 |",
    ]


def test_command_writes_raw_figures_as_json(locomo_file, tmp_path, capsys):
    out = tmp_path / "figures.json"
    arguments = ["locomo", "--data", str(locomo_file), "--embedder", "hash:64", "--top", "1", "3", "--budget", "40"]
    assert main([*arguments, "--json", str(out)]) == 0
    assert "answers wholly" in capsys.readouterr().out
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["dataset"]["questions"] == 3
    assert result["dataset"]["turns"] == 5
    assert result["retentive"]["version"] == retentive.__version__
    assert {"cpu", "cores", "python", "system"} <= set(result["machine"])
    assert result["settings"]["top"] == [1, 3]
    (run,) = result["runs"]
    assert run["embedder"]["name"] == "hash-64"
    keys = ["recall-default", "context-default"]
    keys += [f"{call}@{top}" for top in (1, 3) for call in ("recall", "search", "cosine")]
    blocks = ("context", "excerpts", "defaults", "defaults_whole")
    keys += [f"{call}:40" for call in (*blocks, "recall", "search", "cosine")]
    assert [row["key"] for row in run["rows"]] == keys
    for row in run["rows"]:
        assert {"evidence_recall", "tokens", "memories", "milliseconds", "by_category"} <= set(row)
        total = sum(part["questions"] for part in row["by_category"].values())
        assert total == row["questions"] == 3
        assert row["evidence_recall"]["low"] <= row["evidence_recall"]["mean"] <= row["evidence_recall"]["high"]
    assert [question["id"] for question in result["questions"]] == ["conv-1:0", "conv-1:1", "conv-1:2"]
    assert list(result["questions"][0]["runs"]["hash-64"]) == keys
    written = out.read_text(encoding="utf-8")
    assert "kayak" not in written
    assert str(locomo_file.parent) not in written


def test_mean_in_the_figures_is_the_mean_of_the_questions(locomo_file, tmp_path):
    out = tmp_path / "figures.json"
    assert main(["locomo", "--data", str(locomo_file), "--embedder", "hash:64", "--top", "1", "--json", str(out)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    questions = [(question["labels"], question["runs"]["hash-64"]["recall@1"]) for question in result["questions"]]
    shares = [row["found"] / labels for labels, row in questions]
    row = next(row for row in result["runs"][0]["rows"] if row["key"] == "recall@1")
    assert row["evidence_recall"]["mean"] == pytest.approx(sum(shares) / len(shares))


def test_command_runs_longmemeval_with_the_default_sizes(longmemeval_file, capsys):
    assert main(["longmemeval", "--data", str(longmemeval_file), "--embedder", "hash"]) == 0
    printed = capsys.readouterr().out
    assert "10 memories" in printed
    assert "1,500 tokens" in printed
    assert "single-session-user" in printed


def test_limit_counts_questions(locomo_file, tmp_path):
    out = tmp_path / "figures.json"
    arguments = ["locomo", "--data", str(locomo_file), "--embedder", "hash", "--limit", "1", "--json", str(out)]
    assert main(arguments) == 0
    assert json.loads(out.read_text(encoding="utf-8"))["dataset"]["questions"] == 1


def bad_locomo(change):
    content = locomo_content()
    change(content[0])
    return json.dumps(content)


@pytest.mark.parametrize(
    ("dataset", "content", "expected"),
    [
        ("locomo", "{", "is not JSON"),
        ("locomo", "[]", "an empty list"),
        ("locomo", '{"a": 1}', "an object"),
        ("locomo", "[1]", "entry 0"),
        ("locomo", json.dumps(longmemeval_content()), "lacks conversation, qa"),
        ("longmemeval", json.dumps(locomo_content()), "lacks question_id"),
        ("locomo", bad_locomo(lambda entry: entry.update(conversation={})), "has no session_1"),
        ("locomo", bad_locomo(lambda entry: entry.update(qa="none")), "expected a list"),
        ("locomo", bad_locomo(lambda entry: entry["qa"].clear()), "nothing to measure"),
        (
            "locomo",
            bad_locomo(lambda entry: entry["conversation"].update(session_1_date_time="May 8th")),
            "expected one like",
        ),
        (
            "locomo",
            bad_locomo(lambda entry: entry["conversation"]["session_1"][0].pop("text")),
            "expected a string",
        ),
        (
            "locomo",
            bad_locomo(lambda entry: entry["conversation"]["session_1"][0].update(dia_id="first")),
            "expected D<session>:<turn>",
        ),
        (
            "longmemeval",
            json.dumps([{**longmemeval_content()[0], "haystack_dates": []}]),
            "2 haystack_sessions and 0 haystack_dates",
        ),
        ("longmemeval", json.dumps([{**longmemeval_content()[0], "question_date": 5}]), "expected a string"),
    ],
)
def test_file_of_another_format_is_a_usage_error_that_says_what_was_expected(
    dataset, content, expected, tmp_path, capsys
):
    path = tmp_path / "data.json"
    path.write_text(content, encoding="utf-8")
    assert main([dataset, "--data", str(path), "--embedder", "hash"]) == 2
    assert expected in capsys.readouterr().err


def test_missing_file_is_a_usage_error(tmp_path, capsys):
    assert main(["locomo", "--data", str(tmp_path / "absent.json"), "--embedder", "hash"]) == 2
    assert "absent.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--embedder", "word2vec", "expected static, hash"),
        ("--embedder", "vectors.npz", "--tokenizer"),
        ("--json", "absent/figures.json", "no folder absent"),
        ("--json", ".", "is a folder"),
        ("--markdown", "absent/tables.md", "no folder absent"),
        ("--plot", "curve.svg", "two or more of --budget"),
        ("--ablate", "charm", "there is no signal 'charm', expected one of dense"),
        ("--signals", "charm=1", "there is no signal 'charm', expected one of dense"),
        ("--signals", "recency=1", "there is no signal 'recency', expected one of dense"),
        ("--facts", "observation", "no observation lists"),
        ("--embedder", "hash:0", "expected a positive integer"),
        ("--signals", "role=nan", "finite number from 0"),
        ("--signals", "role=-1", "finite number from 0"),
        ("--signals", "role=1e99", "finite number from 0"),
    ],
)
def test_unusable_option_is_a_usage_error_before_anything_runs(option, value, expected, locomo_file, capsys):
    assert main(["locomo", "--data", str(locomo_file), option, value]) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["locomo"],
        ["convomem", "--data", "x"],
        ["locomo", "--data", "x", "--top", "0"],
        ["locomo", "--data", "x", "--budget", "many"],
        ["locomo", "--data", "x", "--limit", "-1"],
        ["locomo", "--data", "x", "--signals", "role"],
        ["locomo", "--data", "x", "--signals", "role=much"],
        ["locomo", "--data", "x", "--facts", "summary"],
        ["locomo", "--data", "x", "--peer", "excel"],
    ],
)
def test_wrong_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_signals_are_read_from_the_command_line(locomo_file, tmp_path):
    out = tmp_path / "figures.json"
    arguments = ["locomo", "--data", str(locomo_file), "--embedder", "hash", "--signals", "role=0", "sitting=0.5"]
    assert main([*arguments, "--json", str(out)]) == 0
    assert json.loads(out.read_text(encoding="utf-8"))["settings"]["signals"] == {"role": 0.0, "sitting": 0.5}


def test_embedder_hash_takes_a_dimension():
    assert embedder_for("hash:32").dimension == 32


def test_two_embedders_in_one_collection_are_written_with_a_plus(locomo_file, tmp_path):
    out = tmp_path / "figures.json"
    arguments = ["locomo", "--data", str(locomo_file), "--embedder", "hash:64+hash:32", "hash:64"]
    assert main([*arguments, "--json", str(out)]) == 0
    pair, one = [run["embedder"] for run in json.loads(out.read_text(encoding="utf-8"))["runs"]]
    assert (pair["name"], pair["dimension"]) == ("hash-64 + hash-32", "64 + 32")
    assert (one["name"], one["dimension"]) == ("hash-64", 64)
    assert pair["milliseconds"] > 0


@pytest.mark.parametrize("spec", ["hash+hash", "hash:1+hash:2+hash:3", "hash+nothing", "hash+"])
def test_no_pair_of_embedders_is_refused(spec):
    with pytest.raises(ValueError, match=r"expected|no embedder"):
        embedder_or_pair_for(spec)


def test_a_path_with_a_plus_is_one_embedder(tmp_path):
    folder = tmp_path / "a+b"
    folder.mkdir()
    with pytest.raises(ValueError, match=r"a\+b"):  # there is no model in it
        embedder_or_pair_for(str(folder))


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not there")
def test_token_vectors_from_files_are_means_of_length_one():
    tokenizer = SHARED / "models" / "bge-small-en-v1.5-int8" / "tokenizer.json"
    embedder = TokenVectors(SHARED / "models" / "static-256" / "token_vectors.npz", tokenizer)
    rows = embedder.embed_documents(["The kitchen is painted blue", "blue kitchen paint", "tax law"])
    assert rows.shape == (3, 256)
    assert (rows**2).sum(axis=1) == pytest.approx(1, abs=1e-4)
    assert rows[0] @ rows[1] > rows[0] @ rows[2]


def test_token_vectors_from_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(ValueError, match=r"absent\.npz"):
        TokenVectors(tmp_path / "absent.npz", tmp_path / "tokenizer.json")


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not there")
@pytest.mark.parametrize(
    ("dataset", "file"), [("locomo", "locomo-dev.json"), ("longmemeval", "longmemeval-oracle-dev.json")]
)
def test_shared_data_with_a_limit_finds_most_of_the_evidence(dataset, file, tmp_path):
    out = tmp_path / "figures.json"
    assert main([dataset, "--data", str(SHARED / "data" / file), "--limit", "20", "--json", str(out)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    rows = {row["key"]: row for row in result["runs"][0]["rows"]}
    assert rows["recall@10"]["questions"] == 20
    assert rows["context:1500"]["evidence_recall"]["mean"] > 0.6
    assert rows["context:1500"]["tokens"]["high"] <= 1500
    assert rows["context:1500"]["evidence_recall"]["mean"] > rows["cosine:1500"]["evidence_recall"]["mean"] - 0.05


@pytest.mark.shared
def test_shared_data_is_there_or_the_skip_is_said():
    if not SHARED.is_dir():
        pytest.skip("../shared is not there: the evaluation ran on invented conversations only")
    with pytest.raises(DataError):
        locomo.load(SHARED / "data" / "absent.json")
