"""A groundwire server, spoken to from Python: the functions of the package, computed elsewhere.

>>> from groundwire.client import AsyncClient, Client
>>> with Client("http://localhost:8321") as server:
...     server.host
'localhost:8321'
"""

from groundwire.client.calls import ChatEvent
from groundwire.client.client import AsyncClient, Client

__all__ = ["AsyncClient", "ChatEvent", "Client"]
