"""Asks a groundwire server: python examples/ask_server.py http://localhost:8321"""

import asyncio
import sys

from groundwire.client import AsyncClient, Client
from groundwire.errors import InputError
from groundwire.types import ClaimVerification

URL = sys.argv[1]
SOURCES = {"S0": "Acme was founded in 1987. It has 40 employees."}

with Client(URL) as server:
    report = server.check("Acme was founded in 1987. It has 400 employees.", SOURCES)
    for claim in report.claims:
        print(claim.status, claim.claim_text, "·", claim.reason)
    print(server.verify_output("It has 400 employees.", SOURCES, wait=20).feedback)
    try:
        server.check("", SOURCES)
    except InputError as error:
        print("refused:", error)


async def several(claims: list[str]) -> list[ClaimVerification]:
    async with AsyncClient(URL) as server:
        return await asyncio.gather(*(server.verify_claim(claim, SOURCES) for claim in claims))


found = asyncio.run(several(["Acme has 40 employees.", "Acme has 400 employees."]))
print(*(claim.status for claim in found))
