"""Names and ids of what has expired but is not deleted yet."""

import pytest

from retentive import ANY, ConflictError

LONG_AGO = "2020-01-01"


@pytest.fixture
def partly_expired(memory_db):
    """A session and a user with nothing but expired memories, and some in which one memory lives."""
    memory_db.remember("x", session="gone", timestamp=LONG_AGO, ttl_days=1)
    memory_db.remember("x", session="gone", user="gone-user", timestamp=LONG_AGO, ttl_days=1)
    for user in (None, "ann"):
        memory_db.remember("x", session="kept", user=user, timestamp=LONG_AGO, ttl_days=1)
        memory_db.remember("y", session="kept", user=user)
    return memory_db


def test_sessions_leave_out_those_in_which_all_has_expired(partly_expired):
    assert partly_expired.sessions() == ["kept"]
    assert partly_expired.sessions("gone-user") == []
    assert partly_expired.sessions(ANY) == ["kept"]


def test_users_leave_out_those_of_whom_all_has_expired(partly_expired):
    assert partly_expired.users() == ["ann"]


def test_names_are_the_same_after_expire_ran(partly_expired):
    before = partly_expired.sessions(ANY), partly_expired.users()
    assert partly_expired.expire() == 4
    assert (partly_expired.sessions(ANY), partly_expired.users()) == before


def test_id_of_an_expired_memory_is_free_after_expire_and_the_error_says_so(memory_db):
    memory_db.remember("old", id="profile", timestamp=LONG_AGO, ttl_days=1)
    with pytest.raises(ConflictError, match=r"expired.*expire\(\)"):
        memory_db.remember("new", id="profile")
    assert memory_db.expire() == 1
    assert memory_db.remember("new", id="profile") == "profile"
