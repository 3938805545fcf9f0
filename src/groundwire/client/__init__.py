"""A groundwire server, spoken to from Python: the functions of the package, computed elsewhere.

>>> from groundwire.client import AsyncClient, Client
>>> with Client("http://localhost:8321") as server:
...     server.host
'localhost:8321'
"""

from groundwire.client.asking import AsyncClient, Client
from groundwire.client.calls import ChatEvent

__all__ = ["AsyncClient", "ChatEvent", "Client"]
