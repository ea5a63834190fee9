"""Every method that touches the store has an async twin: `a` before its name, the same signature, the same answer."""

import ast
import asyncio
import inspect
from pathlib import Path

import pytest

import retentive
from retentive import ClosedError, Collection, ConversationMemory

# What touches no store. A new method has a twin, or its reason not to have one stands here.
NO_TWIN = {
    Collection: set(),
    ConversationMemory: {"native", "ttl_of", "bound_to"},  # answers about settings
}
# Where a twin takes more: an async function too.
WIDER = {("consolidate", "summarize")}


def blocking_methods(cls):
    public = {name for name, member in inspect.getmembers(cls, inspect.isfunction) if not name.startswith("_")}
    twins = {name for name in public if inspect.iscoroutinefunction(getattr(cls, name))}
    return sorted(public - twins - NO_TWIN[cls]), sorted(twins)


CASES = [(cls, name) for cls in (Collection, ConversationMemory) for name in blocking_methods(cls)[0]]
every_method = pytest.mark.parametrize(("cls", "name"), CASES, ids=lambda item: getattr(item, "__name__", item))


@every_method
def test_method_has_a_twin_with_its_signature(cls, name):
    twin = getattr(cls, f"a{name}", None)
    assert twin is not None, f"{cls.__name__}.{name} has no twin a{name}; see docs/async.md and _collection_twins.py"
    assert inspect.iscoroutinefunction(twin)
    expected, got = inspect.signature(getattr(cls, name)), inspect.signature(twin)
    assert got.return_annotation == expected.return_annotation
    for mine, its in zip(got.parameters.values(), expected.parameters.values(), strict=True):
        same = mine if (name, mine.name) not in WIDER else mine.replace(annotation=its.annotation)
        assert same == its
        assert str(mine.annotation).startswith(str(its.annotation))


@pytest.mark.parametrize("cls", [Collection, ConversationMemory])
def test_no_twin_is_left_without_its_method(cls):
    methods, twins = blocking_methods(cls)
    assert twins == [f"a{name}" for name in methods]


@every_method
def test_twin_passes_every_argument_on(cls, name, memory_db, monkeypatch):
    signature = inspect.signature(getattr(cls, name))
    arguments = {
        "kinds" if parameter.kind is parameter.VAR_KEYWORD else key: object()
        for key, parameter in list(signature.parameters.items())[1:]
    }
    received = []

    def recorder(self, *args, **kwargs):
        received.append(signature.bind(self, *args, **kwargs))
        return received

    monkeypatch.setattr(cls, name, recorder)
    owner = memory_db if cls is Collection else memory_db.memory
    answer = asyncio.run(getattr(owner, f"a{name}")(**arguments))
    assert received == [signature.bind(owner, **arguments)]
    assert answer is (None if signature.return_annotation == "None" else received)


def test_steps_are_always_taken():
    """A generator that is only called does nothing, and says nothing."""
    sources = {path: ast.parse(path.read_text("utf-8")) for path in Path(retentive.__file__).parent.rglob("*.py")}
    nodes = [(path, node) for path, tree in sources.items() for node in ast.walk(tree)]
    steps = {
        node.name
        for _, node in nodes
        if isinstance(node, ast.FunctionDef) and node.returns and ast.unparse(node.returns).startswith("Steps[")
    }
    assert {"remember", "documents", "embed", "called"} <= steps
    forgotten = [
        f"{path.name}:{node.lineno}: {ast.unparse(node)}"
        for path, node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and is_step(node.value.func, steps)
    ]
    assert forgotten == [], "write `yield from` before it"


def is_step(function, steps):
    """Whether a call is one of a function in `steps`: by its own name, of a module of ours, or of an embedding."""
    if isinstance(function, ast.Name):
        return function.id in steps
    owner = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    ours = owner.startswith("_") or owner in {"judging", "self"} or owner.endswith(("embedding", "target"))
    return ours and function.attr in steps


@every_method
def test_twin_of_a_closed_collection_says_so(cls, name, memory_db):
    owner = memory_db if cls is Collection else memory_db.memory
    required = [
        key for key, its in inspect.signature(getattr(owner, name)).parameters.items() if its.default is its.empty
    ]
    given = {key: object() for key in required if key != "recall_kwargs"}
    memory_db.close()
    twin = getattr(owner, f"a{name}")(**given)
    if name == "close":
        asyncio.run(twin)
    else:
        with pytest.raises(ClosedError, match="open it again"):
            asyncio.run(twin)


CALLS = [
    ("remember_many", [{"text": f"number {i} of the list", "session": "s"} for i in range(12)]),
    ("turns", "s", 3),
    ("replace_turns", "r", [{"text": "instead"}, {"text": "of that", "role": "assistant"}]),
    ("turns", "r"),
    ("recall", "which number", "s", 4),
    ("context", "number 3", "s"),
    ("add", ["The export button is top right", "Invoices come monthly"]),
    ("search", "export button"),
    ("count",),
    ("sessions",),
    ("users",),
    ("facts",),
    ("fact", "plan"),
    ("expire",),
    ("forget", "s", ("turn",), 1.0),
    ("stats",),
    ("verify",),
    ("compact",),
    ("warmup",),
    ("delete", ["nothing"]),
    ("get", ["nothing"], True),
    ("get_one", "nothing"),
    ("clear",),
]


def told(answer):
    """What can be compared of an answer: ids and times differ."""
    if isinstance(answer, dict):
        return sorted(answer)
    items = getattr(answer, "items", answer)
    if isinstance(items, list | tuple):
        return [getattr(item, "text", type(item)) for item in items]
    return getattr(answer, "text", answer)


def test_twins_answer_what_their_methods_answer(embedder):
    async def awaited(db):
        return [told(await getattr(db, f"a{name}")(*arguments)) for name, *arguments in CALLS]

    with Collection("one", embedder=embedder) as one, Collection("two", embedder=embedder) as two:
        blocking = [told(getattr(one, name)(*arguments)) for name, *arguments in CALLS]
        assert asyncio.run(awaited(two)) == blocking


def test_the_verbs_of_the_settings_have_twins_too(memory_db):
    async def chat():
        memory = ConversationMemory(memory_db, max_turns=2)
        for text in ("one", "two", "three"):
            await memory.aremember(text, session="s")
        return [turn.text for turn in await memory.aturns("s")], len(await memory_db.aturns("s"))

    assert asyncio.run(chat()) == (["two", "three"], 3)


def test_a_subclass_that_overrides_a_method_overrides_its_twin(embedder):
    class Counted(Collection):
        remembered = 0

        def remember(self, *args, **kwargs):
            new = super().remember(*args, **kwargs)
            assert new.startswith("mem_")
            self.remembered += 1
            return new

        def turns(self, *args, **kwargs):
            yield from super().turns(*args, **kwargs)

    with Counted("counted", embedder=embedder) as db:
        new = asyncio.run(db.aremember("hello", session="s"))
        assert db.remembered == 1
        assert [turn.id for turn in asyncio.run(db.aturns("s"))] == [new]
