"""Random reads over hostile names: no row of anybody else, and none of one's own missing.

`RETENTIVE_SOAK=1` makes it a million reads, `RETENTIVE_SOAK_READS` as many as it says.
"""

import asyncio
import functools
import os
import random
import unicodedata
from typing import NamedTuple

import pytest

from retentive import ANY, KINDS, Collection, HashEmbedder
from retentive.agents import VectorMemory, WindowMemory
from retentive.assistant import MemoryManager

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
READS = int(os.environ.get("RETENTIVE_SOAK_READS", "1000000" if SOAK else "2000"))
SEED = os.environ.get("RETENTIVE_SOAK_SEED", "20261130")
QUERY = "apple pie recipe"
LONG = "x" * 65_535

BASE = ["john", "a", "None", "caf\u00e9", "stra\u00dfe", "\u212bngstr\u00f6m", "K", "\ufb01le", "chat", "0"]
MARKS = [
    "%",
    "_",
    "*",
    "?",
    " ",
    "\0",
    "\n",
    "\t",
    "\x1f",
    "\u200b",
    "\ufeff",
    "\u00a0",
    ":",
    "/",
    "|",
    "'",
    '"',
    "\\",
    ";--",
]
NAMES = sorted(
    {
        *BASE,
        *[base + mark for base, mark in zip(BASE * 2, MARKS, strict=False)],
        *[mark + base for base, mark in zip(BASE * 2, MARKS, strict=False)],
        *["john" + mark for mark in MARKS],
        *[unicodedata.normalize(form, base) for base in BASE for form in ("NFC", "NFD", "NFKC", "NFKD")],
        *[change(base) for base in BASE for change in (str.upper, str.lower, str.title, str.casefold)],
        *[
            "johnny",
            "joh",
            "john_doe",
            "john-doe",
            "john.doe",
            "a:b",
            "a",
            "b",
            "ab",
            "a\0b",
            "ANY",
            "null",
            "true",
            "-1",
        ],
        *[
            "' OR 1=1 --",
            "x' UNION SELECT 1",
            "[a-z]",
            "{a,b}",
            "a.*",
            "$ne",
            '{"$ne":null}',
            "_vx_session",
            "(?i)john",
        ],
        *["\u0458ohn", "\uff4aohn", "\u202ejohn", "\U0001f600", "\U0001f468\u200d\U0001f469", "\u2764", "\u2764\ufe0f"],
        *[LONG + "a", LONG + "b", LONG, " ", "\n", "\0", "\u3000", "\U000e0061"],
    }
)


class Row(NamedTuple):
    user: str | None
    session: str | None
    kind: str
    live: bool


class Read(NamedTuple):
    """What a read gave, and who may be in it: those ids must be there, no others may."""

    got: list[str]
    own: set[str]


def owners():
    """Everybody: each name as a session, as a user, and pairs whose parts put together are the same."""
    yield from ((None, name) for name in NAMES)
    yield from ((name, "chat") for name in NAMES)
    yield from ((name, None) for name in NAMES[::3])
    yield from ((first, second) for first, second in zip(NAMES, NAMES[1:] + NAMES[:1], strict=True))
    yield from [("a", "bc"), ("ab", "c"), ("abc", None), (None, "abc"), ("a\0b", "c"), ("a", "b\0c"), (None, None)]


class Crowd:
    """Every owner with the same words, and a list of whose each row is."""

    def __init__(self, db):
        self.db = db
        self.rows = {}
        self.seen = []
        self.vector = HashEmbedder(16).embed_query(QUERY)
        for number, (user, session) in enumerate(dict.fromkeys(owners())):
            self._fill(number, user, session)
        self.drawn = random.Random(SEED)
        # From here on the rows stay, and a scope is worked out once.
        self.where, self.keyed, self.of = map(functools.cache, (self.where, self.keyed, self.of))
        self.listed = functools.cache(self.listed)

    def _fill(self, number, user, session):
        for part, kind in enumerate(("turn", "turn", "fact", "pinned", "fact")):
            new = f"{number}.{part}"
            if part == 4:  # the owner's fact of that key gives way
                self.rows |= {old: self.rows[old]._replace(live=False) for old in self.keyed(user, session)}
            key = "diet" if part == 4 else None
            metadata = {"everybody": True, "names": [session]}
            self.db.remember(f"{QUERY} {number}", session, kind=kind, user=user, id=new, key=key, metadata=metadata)
            self.rows[new] = Row(user, session, kind, live=True)
        if number % 4 == 0:
            old = f"{number}.2"
            new = self.db.feedback(old, "corrected", correction=f"{QUERY} {number}")
            self.rows[new] = self.rows[old]
            self.rows[old] = self.rows[old]._replace(live=False)

    def where(self, *, user=ANY, session=None, kinds=KINDS):
        """The live ids of a scope."""
        return {
            of
            for of, row in self.rows.items()
            if row.live and row.kind in kinds and user in (ANY, row.user) and session in (None, row.session)
        }

    def of(self, user, session):
        """The live ids of these two names, where None is no name."""
        return {of for of in self.where() if self.rows[of][:2] == (user, session)}

    def listed(self, **scope):
        """The same in one order, to draw from: that of a set differs from process to process."""
        return sorted(self.where(**scope))

    def keyed(self, user, session):
        """Of whom a key is: the user, else the session, else the collection."""
        if user is None:
            scope = [of for of, row in self.rows.items() if (row.user, row.session) == (None, session)]
        else:
            scope = [of for of, row in self.rows.items() if row.user == user]
        return {of for of in scope if of.endswith(".4") and self.rows[of].live}


def ids(found):
    return [result.id for result in found]


def recall(crowd, user, session):
    every = {"limit": 10_000, "min_relevance": None}
    return Read(crowd.db.recall(QUERY, session, user=user, **every).ids, crowd.where(user=user, session=session))


def recall_by_words(crowd, user, session):
    every = {"limit": 10_000, "mode": "lexical", "kinds": ("fact",)}
    own = crowd.where(user=user, session=session, kinds=("fact",))
    return Read(crowd.db.recall(QUERY, session, user=user, **every).ids, own)


def search(crowd, user, session):
    return Read(crowd.db.search(QUERY, 10_000, session=session, user=user).ids, crowd.where(user=user, session=session))


def search_by_filter(crowd, user, session):
    named = {"_vx_session": session, "_vx_user": user}
    condition = {name: value for name, value in named.items() if value is not None}
    user = ANY if user is None else user
    got = crowd.db.search(None, 10_000, filter=condition, user=ANY).ids
    return Read(got, crowd.where(user=user, session=session))


def search_by_names(crowd, user, session):
    absent = {"$exists": False}
    condition = {
        "$and": [
            {"_vx_session": absent if session is None else {"$in": [session]}},
            {"_vx_user": absent} if user is None else {"$not": {"_vx_user": {"$ne": user}}},
        ]
    }
    got = crowd.db.recall(QUERY, limit=10_000, filter=condition, user=ANY, min_relevance=None).ids
    return Read(got, crowd.of(user, session))


def turns(crowd, user, session):
    if session is None:
        return Read([], set())
    return Read(ids(crowd.db.turns(session, user=user)), crowd.where(user=user, session=session, kinds=("turn",)))


def facts(crowd, user, session):
    return Read(ids(crowd.db.facts(user=user, session=session)), crowd.keyed(user, session))


def fact(crowd, user, session):
    found = crowd.db.fact(" DIET ", user=user, session=session)
    return Read([found.id], crowd.keyed(user, session)) if found else Read([], crowd.keyed(user, session))


def context(crowd, user, session):
    block = crowd.db.context(QUERY, session, 100_000, 100, 10_000, user=user, min_relevance=None)
    reach = None if user is not None else session
    everybody = crowd.where(user=user, session=None, kinds=("pinned",))
    pinned = {of for of in everybody if user is not None or crowd.rows[of].session in (None, session)}
    recent = set() if session is None else crowd.where(user=user, session=session, kinds=("turn",))
    assert set(ids(block.recent)) == recent
    if session is not None or user is not None:
        assert set(ids(block.pinned)) == pinned
    got = [*ids(block.pinned), *ids(block.recent), *ids(block.retrieved)]
    return Read(got, pinned | recent | crowd.where(user=user, session=reach))


def similar(crowd, user, session):
    start = crowd.drawn.choice(crowd.listed(user=user, session=session))
    owner = crowd.rows[start]
    own = crowd.of(None, owner.session) if owner.user is None else crowd.where(user=owner.user)
    return Read([start, *crowd.db.similar(start, 10_000).ids], own)


def history(crowd, user, session):
    start = crowd.drawn.choice(crowd.listed(user=user, session=session))
    chain = crowd.db.history(start)
    assert start in ids(chain)
    assert {memory.user for memory in chain} == {crowd.rows[start].user}
    if user is None:  # a user's key is one across sessions
        assert {memory.session for memory in chain} == {crowd.rows[start].session}
    return Read([], set())


def counts(crowd, user, session):
    stored = {of for of, row in crowd.rows.items() if row.user == user and session in (None, row.session)}
    assert crowd.db.count(session=session, user=user) == len(stored)
    sessions = {row.session for row in crowd.rows.values() if row.user == user and row.session is not None}
    assert set(crowd.db.sessions(user)) == sessions
    return Read([], set())


def judge_candidates(crowd, user, session):
    """A judge is shown facts of the owner alone, and of the new fact's session where it has one."""
    crowd.seen.clear()
    new = crowd.db.remember(f"{QUERY} new", session, user=user, kind="fact", check=True)
    assert crowd.db.forget(ids=[new], user=ANY) == 1
    own = crowd.where(user=user, session=session, kinds=("fact", "pinned"))
    assert crowd.seen
    assert set(crowd.seen) <= {f"{QUERY} {of.partition('.')[0]}" for of in own}
    return Read([], set())


def recall_of_everything(crowd, user, session):
    """What was superseded too, and as of a time to come."""
    every = {"limit": 10_000, "min_relevance": None, "include_superseded": True}
    got = crowd.db.recall(QUERY, session, user=user, **every).ids
    of_scope = {of for of, row in crowd.rows.items() if row.user == user and session in (None, row.session)}
    return Read(got, of_scope)


def recall_as_of(crowd, user, session):
    every = {"limit": 10_000, "min_relevance": None, "as_of": "2999-01-01", "mode": "dense"}
    return Read(crowd.db.recall(QUERY, session, user=user, **every).ids, crowd.where(user=user, session=session))


def search_by_vector(crowd, user, session):
    got = crowd.db.search(vector=crowd.vector, limit=10_000, mode="dense", session=session, user=user).ids
    return Read(got, crowd.where(user=user, session=session))


def search_by_words(crowd, user, session):
    got = crowd.db.search(QUERY, 10_000, mode="lexical", session=session, user=user, filter={"_vx_kind": "turn"}).ids
    return Read(got, crowd.where(user=user, session=session, kinds=("turn",)))


def count_by_filter(crowd, user, session):
    """Equality, `$in` and `$nin` with the name itself."""
    if session is None:
        return Read([], set())
    stored = [row for row in crowd.rows.values() if (row.user, row.session) == (user, session)]
    owner = {"_vx_user": {"$exists": False}} if user is None else {"_vx_user": {"$eq": user}}
    for named in ({"_vx_session": session}, {"_vx_session": {"$in": [session]}}):
        assert crowd.db.count({"$and": [named, owner]}) == len(stored)
    others = crowd.db.count({"_vx_session": {"$nin": [session]}}, session=session, user=user)
    assert others == 0
    return Read([], set())


def read_by_ranges(crowd, user, session):
    """`$gte` with `$lte`, `$or`, `$contains` of the name itself, and a key of the caller's that everybody has."""
    if session is None:
        return Read([], set())
    by_name = [
        {"_vx_session": {"$gte": session, "$lte": session}},
        {"$or": [{"_vx_session": session}, {"_vx_session": f"{session[:9]} and nobody"}]},
        {"$not": {"$or": [{"_vx_session": {"$gt": session}}, {"_vx_session": {"$lt": session}}]}},
    ]
    by_metadata = [{"everybody": True}, {"$and": [{"everybody": {"$exists": True}}, {"names": {"$contains": session}}]}]
    live = crowd.where(user=user, session=session)
    whole = {"limit": 10_000, "session": session, "user": user}
    for condition in by_name + by_metadata:
        assert set(crowd.db.search(None, filter=condition, **whole).ids) == live
        assert set(crowd.db.recall(QUERY, filter=condition, min_relevance=None, **whole).ids) == live
    named = {"$and": [by_name[0], {"_vx_user": {"$exists": False} if user is None else user}]}
    return Read(crowd.db.search(None, 10_000, filter=named, user=ANY).ids, crowd.of(user, session))


def users(crowd, user, session):
    """Every owner is listed, and each once."""
    everybody = [row.user for row in crowd.rows.values() if row.user is not None]
    assert sorted(crowd.db.users()) == sorted(set(everybody))
    sessions = {row.session for row in crowd.rows.values() if row.session is not None}
    assert set(crowd.db.sessions(ANY)) == sessions
    return Read([], set())


def the_last_turns(crowd, user, session):
    """The last one of the session, in `turns` and in the recent part."""
    if session is None:
        return Read([], set())
    (last,) = crowd.db.turns(session, limit=1, user=user)
    block = crowd.db.context(QUERY, session, 100_000, 1, 0, user=user)
    assert ids(block.recent) == [last.id]
    assert (last.user, last.session) == (user, session)
    return Read([], set())


def with_few_places(crowd, user, session):
    """A `limit` that others would fill, in a scope that has as many."""
    own = crowd.where(user=user, session=session)
    for found in (
        crowd.db.recall(QUERY, session, 3, user=user, min_relevance=None).ids,
        crowd.db.search(QUERY, 3, session=session, user=user).ids,
        crowd.db.recall(QUERY, session, None, 1_000, user=user, min_relevance=None).ids,
    ):
        assert len(found) >= min(3, len(own))
        assert set(found) <= own
    return Read([], set())


def by_a_twin(crowd, user, session):
    """The async twins of what reads by names."""

    async def read():
        every = {"limit": 10_000, "user": user, "session": session}
        found = await crowd.db.arecall(QUERY, min_relevance=None, **every)
        assert (await crowd.db.asearch(QUERY, **every)).ids
        return found.ids

    return Read(asyncio.run(read()), crowd.where(user=user, session=session))


def of_texts(texts, own, crowd):
    """The owners that texts were stored for, each as one of the ids that are its own."""
    numbers = {of.partition(".")[0] for of in own}
    return Read([], set()) if {text.rpartition(" ")[2] for text in texts} <= numbers else Read(list(texts), own)


def an_assistant(crowd, user, session):
    """Conversation, facts, statements and the block of an assistant of that session."""
    if session is None:
        return Read([], set())
    memory = MemoryManager(session, user=user, collection=crowd.db, max_turns=None)
    said = {turn.id for turn in memory.conversation.turns}
    assert said == crowd.where(user=user, session=session, kinds=("turn",))
    everything = crowd.where(user=user, session=None if user is not None else session)
    texts = [*memory.facts.all().values(), *[found.text for found in memory.semantic.search(QUERY, 100)]]
    return of_texts(texts, everything, crowd)


def an_agent(crowd, user, session):
    """What an agent's memories give of a thread: a thread has no user."""
    if session is None:
        return Read([], set())
    texts = [message.content for message in WindowMemory(1_000, collection=crowd.db).get(thread_id=session)]
    near = VectorMemory(collection=crowd.db, top_k=1_000, score_threshold=None)
    texts += [message.content for message in near.get(thread_id=session, query=QUERY)]
    return of_texts(texts, crowd.where(user=None, session=session), crowd)


METHODS = [recall, recall_by_words, recall_of_everything, recall_as_of]
METHODS += [search, search_by_filter, search_by_names, search_by_vector, search_by_words]
METHODS += [turns, facts, fact, context, similar, history, counts, count_by_filter, judge_candidates]
METHODS += [users, the_last_turns, with_few_places]
METHODS = METHODS * 4 + [an_assistant, an_agent, read_by_ranges, by_a_twin]  # which read several times each


@pytest.fixture(scope="module")
def crowd():
    with Collection("crowd", embedder=HashEmbedder(16)) as db:
        crowd = Crowd(db)

        def judge(text, candidates):
            crowd.seen.extend(candidates)
            return [False] * len(candidates)

        db.memory.judge = judge
        db.memory.judge_candidates = 100
        yield crowd


def test_pairs_are_many_and_alike():
    assert len(NAMES) > 120
    assert len({unicodedata.normalize("NFKC", name).casefold().strip() for name in NAMES}) < len(NAMES) - 30


@pytest.mark.soak
def test_no_read_has_a_row_of_anybody_else(crowd, counted):
    drawn = random.Random(SEED)
    pairs = sorted({row[:2] for row in crowd.rows.values()}, key=repr)
    for _ in range(READS):
        user, session = drawn.choice(pairs)
        method = drawn.choice(METHODS)
        read = method(crowd, user, session)
        assert len(read.got) == len(set(read.got)), (method.__name__, user, session)
        assert set(read.got) == read.own, (method.__name__, user, session)
        counted(reads_checked=1)
