"""API keys, stored as digests. A key is shown once, on creation, and can be revoked."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Row, select, update

from groundwire.errors import InputError
from groundwire.stores.database import Database, record_of
from groundwire.stores.tables import api_keys

ADMIN = "admin"
SCOPES = ("check", "facts:read", "facts:write", "reports", "rag", "rag:write", "proxy", "metrics", ADMIN)
"""The scopes a key can have; `admin` includes all."""
PREFIX = "gw"
_ID_BYTES = 6  # shown and logged: short, and unlikely to repeat among the keys of a server
_SECRET_BYTES = 32  # 256 bits of randomness, so that the stored hash needs no salt
_MAX_NAME_CHARS = 100  # a line of `groundwire keys list`


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored key. `per_minute` None means the server's default rate limit."""

    id: str
    name: str
    digest: str
    scopes: frozenset[str]
    per_minute: int | None = None
    created: float = 0.0
    revoked: float | None = None

    def opens(self, secret: str) -> bool:
        """True if the secret matches. A plain hash suffices for a secret of 256 random bits."""
        return hmac.compare_digest(self.digest, hash_secret(secret))


def hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def split_token(token: str) -> tuple[str, str] | None:
    """The id and the secret in a token; None if the format differs.

    >>> split_token("gw_0123456789ab_secret"), split_token("sk-other")
    (('0123456789ab', 'secret'), None)
    """
    prefix, _, rest = token.partition("_")
    identity, _, secret = rest.partition("_")
    return (identity, secret) if prefix == PREFIX and identity and secret else None


class KeyStore:
    """The keys of the service. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, scopes: Sequence[str], per_minute: int | None = None) -> tuple[ApiKey, str]:
        """Create a key. The returned token cannot be recovered later."""
        if not name.strip() or len(name) > _MAX_NAME_CHARS or not name.isprintable():
            raise InputError("a key needs a name", hint=f"up to {_MAX_NAME_CHARS} printable characters")
        identity, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        key = ApiKey(identity, name, hash_secret(secret), frozenset(scopes), per_minute, time.time())
        with self._database.write() as connection:
            taken = select(api_keys.c.id).where(api_keys.c.name == name, api_keys.c.revoked.is_(None))
            if connection.execute(taken).first():
                raise InputError(f"a key called {name} already exists", hint="revoke it, or choose another name")
            values = {**asdict(key), "scopes": sorted(key.scopes)}
            connection.execute(api_keys.insert().values(values))
        return key, f"{PREFIX}_{identity}_{secret}"

    def all(self) -> list[ApiKey]:
        """All keys including revoked ones, oldest first."""
        with self._database.read() as connection:
            return [_key(row) for row in connection.execute(select(api_keys).order_by(api_keys.c.created))]

    def standing(self) -> dict[str, ApiKey]:
        """The active keys by id."""
        with self._database.read() as connection:
            rows = connection.execute(select(api_keys).where(api_keys.c.revoked.is_(None)))
            return {row.id: _key(row) for row in rows}

    def revoke(self, which: str) -> ApiKey:
        """Revoke a key by its name or id."""
        named = (api_keys.c.name == which) | (api_keys.c.id == which)
        with self._database.write() as connection:
            row = connection.execute(select(api_keys).where(named, api_keys.c.revoked.is_(None))).first()
            if row is None:
                raise InputError(f"there is no key {which}", hint="groundwire keys list shows them")
            at = time.time()
            connection.execute(update(api_keys).where(api_keys.c.id == row.id).values(revoked=at))
        return _key(row)


def _key(row: Row[Any]) -> ApiKey:
    return record_of(ApiKey, row, scopes=frozenset(row.scopes))
