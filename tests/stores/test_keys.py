"""API keys in the store: random, kept as digests, revoked for good."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from groundwire.errors import InputError
from groundwire.stores.database import open_database
from groundwire.stores.keys import KeyStore, split_token


def test_a_key_is_made_found_and_revoked(store_url: str) -> None:
    database = open_database(store_url)
    keys = KeyStore(database)
    made, token = keys.add("ci", ["check", "facts:read"], per_minute=60)
    identity, secret = split_token(token) or ("", "")
    found = keys.standing()[identity]
    assert found == made
    assert (found.scopes, found.per_minute) == (frozenset({"check", "facts:read"}), 60)
    assert found.opens(secret)
    assert not found.opens(secret[:-1])
    assert keys.revoke("ci").id == identity
    assert keys.standing() == {}
    assert keys.all()[0].revoked is not None
    database.close()


def test_the_secret_is_nowhere_in_the_store(store_url: str) -> None:
    database = open_database(store_url)
    _, token = KeyStore(database).add("ci", ["check"])
    with database.read() as connection:
        kept = str(connection.execute(text("SELECT * FROM api_keys")).all())
    assert token.split("_", 2)[2] not in kept
    assert len((split_token(token) or ("", ""))[1]) >= 43, "256 bits"
    database.close()


def test_a_name_is_taken_while_its_key_stands(store_url: str) -> None:
    database = open_database(store_url)
    keys = KeyStore(database)
    first, token = keys.add("ci", ["check"])
    with pytest.raises(InputError, match="already"):
        keys.add("ci", ["admin"])
    keys.revoke(first.id)
    _, other = keys.add("ci", ["check"])
    assert other != token
    with pytest.raises(InputError, match="no key nobody"):
        keys.revoke("nobody")
    database.close()


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 101, "\x1b[31m"])
def test_a_name_can_be_printed(store_url: str, name: str) -> None:
    database = open_database(store_url)
    with pytest.raises(InputError, match="a key needs a name"):
        KeyStore(database).add(name, ["check"])
    database.close()
