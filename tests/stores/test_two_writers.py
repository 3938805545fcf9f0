"""Processes that write at once, and processes that die: nothing is lost, nothing is there twice."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.knowledge import all_facts

from groundwire.stores.import_export import to_jsonl
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import FactStatus

FACTS = 25
PATIENCE = 120.0
WRITER = """
import sys
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Entity, Fact, Role, Value, ValueKind
url, who, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
def fact(subject, predicate, told, many):
    roles = (Role("subject", Value(subject, ValueKind.REFERENCE)), Role("object", Value(told)))
    return Fact("", predicate, roles, many=many)
with Knowledge.open(url) as kb:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(count):
        kb.put_entity(Entity("", f"Person {n}", "person", (f"{who} {n}",)))
        kb.put_fact(fact(f"Person {n}", "knows", "everyone", True))
        kb.put_fact(fact(f"Person {n}", "told by", who, True))
        kb.put_fact(fact("Acme", "ceo", f"{who} {n}", False))
"""


def start(url: str, who: str, count: int = FACTS) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, url, who, str(count)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return process


def race(processes: Sequence[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.communicate("go\n", timeout=PATIENCE)
    assert [process.returncode for process in processes] == [0] * len(processes)


def test_two_processes_lose_nothing_and_duplicate_nothing(store_url: str) -> None:
    race([start(store_url, "ann"), start(store_url, "bob")])
    with Knowledge.open(store_url) as kb:
        stats = kb.stats()
        assert stats.types == {"person": FACTS, "": 1}
        assert stats.names == 1 + 3 * FACTS
        assert (stats.predicates["knows"], stats.predicates["told by"]) == (FACTS, 2 * FACTS)
        ceos = [fact for fact in all_facts(kb) if fact.predicate == "ceo"]
        assert len(ceos) == 2 * FACTS
        assert sum(fact.status is FactStatus.ASSERTED for fact in ceos) == 1


def test_two_processes_may_begin_a_store_at_once(bare_url: str) -> None:
    race([start(bare_url, "ann", 1), start(bare_url, "bob", 1)])
    with Knowledge.open(bare_url, create=False) as kb:
        assert kb.stats().types == {"person": 1, "": 1}


def importing(file: Path, url: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "groundwire.cli.main", "kb", "import", str(file), "--store", url]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def wait_for_facts(kb: Knowledge, process: subprocess.Popen[bytes]) -> int:
    until = time.monotonic() + PATIENCE
    while not (found := kb.stats().facts) and process.poll() is None and time.monotonic() < until:
        pass
    return found


def test_a_killed_import_leaves_whole_batches_and_is_completed_by_the_next(store_url: str, tmp_path: Path) -> None:
    file, count = tmp_path / "facts.csv", 4000
    rows = (f"Person {n % 500},knows,thing {n}\n" for n in range(count))
    file.write_text("subject,predicate,object\n" + "".join(rows))
    with Knowledge.open(store_url) as kb:
        process = importing(file, store_url)
        wait_for_facts(kb, process)
        process.kill()
        process.wait(PATIENCE)
        left = kb.stats().facts
        assert left % 1000 == 0
        assert 0 < left <= count
        assert importing(file, store_url).wait(PATIENCE) == 0
        stats = kb.stats()
        assert (stats.facts, stats.entities, stats.by_status) == (count, 500, {"asserted": count})
        assert sum(1 for _ in to_jsonl(kb)) == count + 500
