"""ChatGPT's data export: `conversations.json`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from retentive import _validate
from retentive._errors import InvalidInputError
from retentive.importers._message import Item, content, dated, instant, kept, placed, role_of, said, wanted
from retentive.importers._source import Source, identifier, mapping, rows, word

if TYPE_CHECKING:
    from datetime import datetime

_TEXTS = ("text", "result")  # where a content that has no parts says something
_NOT_SAID = frozenset({"user_editable_context", "model_editable_context", "thoughts", "reasoning_recap"})


def chatgpt(
    source: Source, *, user: str | None = None, roles: Collection[str] | None = ("user", "assistant")
) -> Iterator[Item]:
    """Yield the messages of ChatGPT's data export as turns, for `remember_many`.

    A conversation is a session, by its id. It is a tree, because answers can be asked for again and questions changed:
    what was last on the screen is taken. Ids are `conversation:message`, so that importing the same export twice is a
    `ConflictError` and stores nothing twice. The metadata have the conversation's `title`, and the `model`. A message
    without a time has that of the one before it; before the first that has one, the conversation's.

    Args:
        source: the path of `conversations.json` from the archive, or what was loaded from it.
        user: whose they are.
        roles: keep only messages of these roles; None for all, with what tools answered.

    Raises:
        InvalidInputError: a conversation is not of this form; the message says where.
        OSError: the file cannot be read.
    """
    keep = wanted(roles)
    return kept(_items(source, _validate.owner(user)), keep)


def _items(source: Source, user: str | None) -> Iterator[Item | None]:
    for index, (place, row) in enumerate(rows(source, "conversations", "conversations")):
        conversation = mapping(row, place)
        nodes = mapping(conversation.get("mapping"), f"{place}.mapping")
        current = word(conversation.get("current_node"), f"{place}.current_node")
        named = (identifier(conversation.get(key), f"{place}.{key}") for key in ("conversation_id", "id"))
        session = next(filter(None, named), f"chatgpt-{index}")
        thread = _thread(nodes, current, f"{place}.mapping")
        turns = _turns(thread, f"{place}.mapping", session, user, conversation.get("title"))
        began, changed = (_time(conversation, key, place) for key in ("create_time", "update_time"))
        yield from dated(dated(turns, began), changed)  # the latter where nothing else has a time


def _turns(
    thread: list[tuple[str, Mapping[str, Any]]], place: str, session: str, user: str | None, title: Any
) -> Iterator[Item]:
    for name, node in thread:
        message = node.get("message")
        if message is not None:
            at = f"{place}[{name!r}].message"
            found = _item(mapping(message, at), at, name, session, user, title)
            if found is not None:
                yield found


def _time(found: Mapping[str, Any], key: str, place: str) -> datetime | str | None:
    return None if found.get(key) is None else instant(found[key], f"{place}.{key}")


def _thread(nodes: Mapping[str, Any], current: str | None, place: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the nodes from the first to the one that was last on the screen."""
    last = current if current in nodes else _latest_leaf(nodes, place)
    if last is None and nodes:
        raise InvalidInputError(
            f"{place} has no last message: each has one behind it, in a ring; expected a tree, or a current_node"
        )
    path: list[tuple[str, Mapping[str, Any]]] = []
    seen = set()
    while last is not None and last in nodes:
        if last in seen:
            raise InvalidInputError(f"{place} has a ring of parents at {_validate.shown(last)}")
        seen.add(last)
        node = mapping(nodes[last], f"{place}[{last!r}]")
        path.append((last, node))
        last = word(node.get("parent"), f"{place}[{last!r}].parent")
    return path[::-1]


def _latest_leaf(nodes: Mapping[str, Any], place: str) -> str | None:
    def created(name: str) -> float:
        node = nodes[name]
        message = node.get("message")
        at = message.get("create_time") if isinstance(message, Mapping) else None
        return at if isinstance(at, int | float) else 0.0

    leaves = [name for name, node in nodes.items() if not mapping(node, f"{place}[{name!r}]").get("children")]
    return max(leaves, key=created, default=None)


def _item(message: Mapping[str, Any], place: str, node: str, session: str, user: str | None, title: Any) -> Item | None:
    about = message.get("metadata") if isinstance(message.get("metadata"), Mapping) else {}
    if "content" not in message:
        raise InvalidInputError(f"{place} has no content, expected one with parts or a text")
    body = mapping(message["content"] or {}, f"{place}.content")
    hidden = bool(about and about.get("is_visually_hidden_from_conversation"))
    if hidden or word(body.get("content_type"), f"{place}.content.content_type") in _NOT_SAID:
        return None
    text, others = content(body.get("parts"), f"{place}.content.parts")
    text = text or next((body[key] for key in _TEXTS if isinstance(body.get(key), str)), "")
    stored = said(text, others, [])
    if not stored or stored.isspace():
        return None
    author = mapping(message.get("author") or {}, f"{place}.author")
    metadata = {"title": title, "model": about.get("model_slug") if about else None, "parts": others}
    at, name = _time(message, "create_time", place), author.get("name")
    found = {
        "text": stored,
        "id": f"{session}:{identifier(message.get('id'), f'{place}.id') or node}",
        "session": session,
        "user": user,
        "role": role_of(author.get("role"), {}, f"{place}.author.role"),
        "metadata": {key: value for key, value in metadata.items() if value},
        **({"name": name} if name else {}),
        **({} if at is None else {"timestamp": at}),
    }
    return placed(found, place)
