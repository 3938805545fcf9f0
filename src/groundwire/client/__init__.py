"""A client of the HTTP service with the functions of this package.

>>> from groundwire.client import AsyncClient, Client
>>> with Client("http://localhost:8321") as server:
...     server.host
'localhost:8321'
"""

from groundwire.client.calls import ChatEvent
from groundwire.client.client import AsyncClient, Client

__all__ = ["AsyncClient", "ChatEvent", "Client"]
