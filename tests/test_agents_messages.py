"""Messages of an agent: roles, content, metadata."""

import pickle
import subprocess
import sys

import pytest

from retentive import HashEmbedder, InvalidInputError
from retentive.agents import Message, Role, VectorMemory, WindowMemory


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_each_role_has_a_constructor(role):
    message = getattr(Message, role)("hello", {"at": 1})
    assert (message.role, message.content, message.metadata) == (role, "hello", {"at": 1})
    assert message == Message(role, "hello", metadata={"at": 1}) == Message(Role(role), "hello", {"at": 1})


def test_metadata_is_empty_by_default_and_never_shared():
    first, second = Message.user("a"), Message.user("b")
    assert first.metadata == second.metadata == {}
    assert first.metadata is not second.metadata


def test_metadata_is_a_copy_of_what_was_given():
    given = {"a": 1}
    message = Message.user("x", given)
    given["a"] = 2
    assert message.metadata == {"a": 1}


def test_messages_differ_by_role_content_and_metadata():
    same = [Message.user("a"), Message.assistant("a"), Message.user("b"), Message.user("a", {"k": 1})]
    assert all(one != other for i, one in enumerate(same) for other in same[:i])


def test_message_is_frozen_hashable_and_pickles():
    message = Message.user("a", {"k": [1]})
    with pytest.raises(AttributeError):
        message.content = "b"
    assert {message: 1}[Message.user("a", {"k": [1]})] == 1
    assert pickle.loads(pickle.dumps(message)) == message


def test_role_is_its_string():
    assert f"{Role.USER}" == "user" == Role.USER
    assert [role.value for role in Role] == ["user", "assistant", "system", "tool"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("usr", "x"), "role is 'usr', expected one of 'user', 'assistant', 'system', 'tool'"),
        ((None, "x"), "role is None"),
        ((["user"], "x"), "role is ['user']"),
        (("user", None), "content is None, expected a string"),
        (("user", 5), "content is 5"),
        (("user", "x", "y"), "metadata is 'y', expected a dict"),
        (("user", "x", [("a", 1)]), "metadata is [('a', 1)], expected a dict"),
    ],
)
def test_wrong_argument_is_named(arguments, told):
    with pytest.raises(InvalidInputError) as caught:
        Message(*arguments)
    assert told in str(caught.value)


def test_import_of_retentive_loads_no_agents():
    code = "import sys, retentive; print([name for name in sys.modules if 'agents' in name or name == 'asyncio'])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"


def test_exports_are_complete_and_documented():
    from retentive import agents

    assert set(agents.__all__) == {
        "DEFAULT_THREAD",
        "CompositeMemory",
        "MemberError",
        "Memory",
        "Message",
        "Role",
        "VectorMemory",
        "WindowMemory",
    }
    for name in agents.__all__:
        item = getattr(agents, name)
        if isinstance(item, type):
            members = [member for member in vars(item) if not member.startswith("_") and callable(vars(item)[member])]
            assert (item.__doc__ or "").strip(), name
            assert all((getattr(item, member).__doc__ or "").strip() for member in members), name


@pytest.mark.parametrize("memory", [VectorMemory(embedder=HashEmbedder(8)), WindowMemory()], ids=["vector", "window"])
@pytest.mark.parametrize("message", ["x", None, 1, {"role": "user", "content": "x"}])
def test_keeps_refuses_what_is_no_message(memory, message):
    with pytest.raises(InvalidInputError, match="expected a Message"):
        memory.keeps(message)
    assert memory.keeps(Message.user("x"))
