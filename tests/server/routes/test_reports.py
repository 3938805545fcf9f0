"""Reports through the service: kept behind the answer, read by their id, listed, counted, marked, forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.serving import Served, served

from groundwire.server.reports import REPORT_HEADER, STORE_HEADER
from groundwire.stores.feedback import FeedbackStore
from groundwire.stores.keys import KeyStore
from groundwire.stores.reports import ReportStore, ReportSummary, StoredReport

SOURCE = "Acme was founded in 1987. It has 40 employees."
ANSWER = "Acme was founded in 1987. It has 400 employees."


def check(client: httpx.Client, headers: dict[str, str] | None = None, **asked: Any) -> httpx.Response:
    source = {"id": "S0", "text": SOURCE, "origin": "acme.txt"}
    body = {"response": ANSWER, "sources": [source], "question": "Who is Acme?", **asked}
    answer = client.post("/v1/check", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer


def kept(client: httpx.Client, **asked: Any) -> str:
    return check(client, **asked).headers[REPORT_HEADER]


def test_a_report_can_be_read_from_the_first_moment(plain: Served) -> None:
    answer = check(plain.client)
    stored = plain.client.get(f"/v1/reports/{answer.headers[REPORT_HEADER]}").json()
    assert stored["report"] == answer.json()
    assert stored["answer"] == ANSWER
    assert stored["sources"] == [{"id": "S0", "text": SOURCE, "origin": "acme.txt"}]
    assert (stored["kind"], stored["title"], stored["flagged"]) == ("check", "Who is Acme?", True)
    assert stored["created"] < stored["expires"]


def test_it_is_the_same_once_it_is_written(plain: Served) -> None:
    identity = kept(plain.client)
    first = plain.client.get(f"/v1/reports/{identity}").json()
    plain.service.report_writer.flush()
    assert plain.service.report_writer.pending(identity) is None
    assert plain.client.get(f"/v1/reports/{identity}").json() == first


def test_ids_cannot_be_guessed_and_name_nothing_else(plain: Served) -> None:
    identities = {kept(plain.client) for _ in range(3)}
    assert len(identities) == 3
    assert all(len(identity) >= 20 for identity in identities)
    assert plain.client.get("/v1/reports/no-such-report").status_code == 404
    assert plain.client.get("/v1/reports/%3Cscript%3E").status_code == 422


@pytest.mark.parametrize("said", ["false", "False", "0", "no"])
def test_the_store_header_prevents_storing(plain: Served, said: str) -> None:
    assert REPORT_HEADER not in check(plain.client, {STORE_HEADER: said}).headers


def test_an_audit_is_stored_too(plain: Served) -> None:
    body = {"steps": ["It has 40 employees."], "sources": {"S0": SOURCE}, "question": "How many?"}
    answer = plain.client.post("/v1/traces/audit", json=body)
    stored = plain.client.get(f"/v1/reports/{answer.headers[REPORT_HEADER]}").json()
    assert (stored["kind"], stored["audit"]) == ("audit", answer.json())


def test_hostile_text_comes_back_as_text(plain: Served) -> None:
    hostile = "<script>alert(1)</script>\u202e \x00 & it has 40 employees."
    identity = kept(plain.client, response=hostile, question=hostile, id="<b>")
    plain.service.report_writer.flush()
    answer = plain.client.get(f"/v1/reports/{identity}")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["answer"] == hostile
    page = plain.client.get(f"/v1/reports/{identity}", headers={"accept": "text/html"})
    assert "<script>" not in page.text
    assert "sandbox" in page.headers["content-security-policy"]


def test_a_browser_gets_a_page(plain: Served) -> None:
    identity = kept(plain.client)
    page = plain.client.get(f"/v1/reports/{identity}", headers={"accept": "text/html,*/*"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "It has 400 employees." in page.text
    assert "Acme was founded in 1987" in page.text
    direct = check(plain.client, {"accept": "text/html"})
    assert direct.text == page.text
    steps = {"steps": ["It has 40 employees."], "sources": {"S0": SOURCE}}
    audit = plain.client.post("/v1/traces/audit", json=steps).headers[REPORT_HEADER]
    assert "<h1>" in plain.client.get(f"/v1/reports/{audit}", headers={"accept": "text/html"}).text


def test_a_list_is_read_page_by_page(plain: Served) -> None:
    made = [kept(plain.client, question=f"Question {number}") for number in range(3)]
    plain.service.report_writer.flush()
    first = plain.client.get("/v1/reports", params={"limit": 2}).json()
    assert [row["id"] for row in first["reports"]] == [made[2], made[1]]
    assert "owner" not in first["reports"][0]
    rest = plain.client.get("/v1/reports", params={"limit": 1, "before": first["next"]}).json()
    assert rest["reports"][0]["title"] == "Question 0"
    flagged = plain.client.get("/v1/reports", params={"flagged": "false"}).json()["reports"]
    assert not any(row["flagged"] for row in flagged)
    assert plain.client.get("/v1/reports", params={"flagged": "perhaps"}).status_code == 422


def test_a_report_is_forgotten_on_request(plain: Served) -> None:
    identity = kept(plain.client)
    assert plain.client.delete(f"/v1/reports/{identity}").status_code == 204
    assert plain.client.get(f"/v1/reports/{identity}").status_code == 404
    assert plain.client.delete(f"/v1/reports/{identity}").status_code == 404


def test_feedback_is_stored_and_shown(plain: Served) -> None:
    identity = kept(plain.client)
    said = plain.client.post(
        f"/v1/reports/{identity}/feedback", json={"claim": "c2", "right": False, "note": "it is 400"}
    )
    assert said.status_code == 200, said.text
    claims = plain.client.get(f"/v1/reports/{identity}").json()["report"]["claims"]
    assert claims[0]["feedback"] is None
    assert claims[1]["feedback"] == said.json()
    assert (said.json()["right"], said.json()["supported"]) == (False, True)
    entry = FeedbackStore(plain.service.database).entries()[0]
    assert (entry.verdict.key, entry.feedback.note) == (claims[1]["key"], "it is 400")
    for claim in ("c9", "<script>"):
        wrong = plain.client.post(f"/v1/reports/{identity}/feedback", json={"claim": claim, "right": True})
        assert wrong.status_code == 422


def test_expired_reports_are_hidden_before_they_are_deleted(plain: Served) -> None:
    ancient = plain.service.report_writer.oldest - 1
    summary = ReportSummary("ancient", "check", "", ancient, "Old", True, 1.0, 0.0, 1, 1, 0, "local", "default")
    ReportStore(plain.service.database).add([StoredReport(summary, '{"report": {}, "sources": []}')])
    assert plain.client.get("/v1/reports/ancient").status_code == 404
    rows = plain.client.get("/v1/reports", params={"limit": 200}).json()["reports"]
    assert "ancient" not in [row["id"] for row in rows]


def test_keep_reports_false_stores_nothing(tmp_path: Any) -> None:
    settings = {"hallucination.backend.type": "fake", "store.url": str(tmp_path / "s.db"), "store.cache_path": ""}
    with served({**settings, "server.keep_reports": False}) as running:
        assert REPORT_HEADER not in check(running.client).headers
        assert running.client.get("/v1/reports").json() == {"reports": [], "next": None}


def test_a_failing_store_does_not_fail_a_check(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    broken = tmp_path / "broken.db"
    broken.write_text("this is no database at all, and long enough to be looked at as one")
    settings = {"hallucination.backend.type": "fake", "store.url": str(broken), "store.cache_path": ""}
    with served(settings) as running:
        assert check(running.client).json()["flagged"] is True
        running.service.report_writer.flush()
    assert "could not be stored" in caplog.text


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("locked")
    settings = {
        "hallucination.backend.type": "fake",
        "server.auth": "always",
        "store.url": str(folder / "store.db"),
        "store.cache_path": "",
    }
    with served(settings) as running:
        yield running


@pytest.fixture(scope="module")
def tokens(locked: Served) -> dict[str, dict[str, str]]:
    keys = KeyStore(locked.service.database)
    return {
        name: {"authorization": f"Bearer {keys.add(name, scopes)[1]}"}
        for name, scopes in (
            ("ann", ["check", "reports"]),
            ("ben", ["check", "reports"]),
            ("eve", ["check"]),
            ("root", ["admin"]),
        )
    }


def test_with_keys_each_sees_its_own_and_admin_all(locked: Served, tokens: dict[str, dict[str, str]]) -> None:
    made = check(locked.client, tokens["ann"]).headers[REPORT_HEADER]
    locked.service.report_writer.flush()

    def seen(name: str) -> list[str]:
        return [row["id"] for row in locked.client.get("/v1/reports", headers=tokens[name]).json()["reports"]]

    assert (seen("ann"), seen("ben"), seen("root")) == ([made], [], [made])
    assert locked.client.get("/v1/reports", headers=tokens["eve"]).status_code == 403
    assert locked.client.get(f"/v1/reports/{made}").status_code == 401
    assert locked.client.delete(f"/v1/reports/{made}", headers=tokens["ben"]).status_code == 404
    assert locked.client.delete(f"/v1/reports/{made}", headers=tokens["ann"]).status_code == 204


@pytest.mark.parametrize("written", [False, True])
def test_another_key_reaches_no_report(locked: Served, tokens: dict[str, dict[str, str]], written: bool) -> None:
    made = f"/v1/reports/{check(locked.client, tokens['ann']).headers[REPORT_HEADER]}"
    if written:
        locked.service.report_writer.flush()
    opinion = {"claim": "c2", "right": False}

    def reached(name: str) -> list[int]:
        calls = [("GET", made, None), ("POST", f"{made}/feedback", opinion), ("POST", f"{made}/share", None)]
        return [locked.client.request(m, path, json=b, headers=tokens[name]).status_code for m, path, b in calls]

    assert reached("ben") == [404, 404, 404]
    assert reached("ann") == [200, 200, 201]
    assert reached("root") == [200, 200, 201]


def test_feedback_on_equal_claims_does_not_cross_keys(locked: Served, tokens: dict[str, dict[str, str]]) -> None:
    made = {name: f"/v1/reports/{check(locked.client, tokens[name]).headers[REPORT_HEADER]}" for name in ("ann", "ben")}

    def mark(owner: str, by: str, note: str) -> None:
        given = {"claim": "c2", "right": False, "note": note}
        said = locked.client.post(f"{made[owner]}/feedback", json=given, headers=tokens[by])
        assert said.status_code == 200

    def notes(name: str) -> list[str | None]:
        stored = locked.client.get(made[name], headers=tokens[name]).json()["report"]
        found = [one["claims"][1]["feedback"] for one in (stored, check(locked.client, tokens[name]).json())]
        return [opinion and opinion["note"] for opinion in found]

    mark("ann", "ann", "hers")
    assert (notes("ann"), notes("ben")) == (["hers"] * 2, [None] * 2)
    mark("ben", "ben", "his")
    assert (notes("ann"), notes("ben")) == (["hers"] * 2, ["his"] * 2)
    mark("ann", "root", "the operator's")
    assert (notes("ann"), notes("ben")) == (["the operator's"] * 2, ["his"] * 2)


def test_sharing_lets_others_read_only(locked: Served, tokens: dict[str, dict[str, str]]) -> None:
    made, other = (f"/v1/reports/{check(locked.client, tokens['ann']).headers[REPORT_HEADER]}" for _ in range(2))
    shared = locked.client.post(f"{made}/share", headers=tokens["ann"]).json()
    assert shared["path"] == f"/r/{made.rpartition('/')[2]}#{shared['token']}"
    guest = {**tokens["ben"], "x-groundwire-share": shared["token"]}
    assert locked.client.get(made, headers=guest).json()["answer"] == ANSWER
    assert locked.client.get(made, headers={**guest, "x-groundwire-share": "wrong"}).status_code == 404
    assert locked.client.get(other, headers=guest).status_code == 404
    assert locked.client.get(made, headers={"x-groundwire-share": shared["token"]}).status_code == 401
    opinion = {"claim": "c2", "right": False}
    assert locked.client.post(f"{made}/feedback", json=opinion, headers=guest).status_code == 404
    assert locked.client.delete(f"{made}/share", headers=guest).status_code == 404
    assert locked.client.delete(made, headers=guest).status_code == 404
    assert locked.client.delete(f"{made}/share", headers=tokens["ann"]).status_code == 204
    assert locked.client.get(made, headers=guest).status_code == 404


def test_another_key_reaches_no_output(locked: Served, tokens: dict[str, dict[str, str]]) -> None:
    body = {"response": ANSWER, "sources": {"S0": SOURCE}, "wait": 20}
    made = locked.client.post("/v1/outputs", json=body, headers=tokens["ann"]).json()
    path = f"/v1/outputs/{made['id']}"
    assert locked.client.get(path, headers=tokens["ben"]).status_code == 404
    assert locked.client.get(path, headers=tokens["ann"]).json() == made


@pytest.mark.parametrize("path", ["/", "/r/x", "/audit", "/page/page.css", "/page/settings.json"])
def test_pages_need_no_key(locked: Served, path: str) -> None:
    assert locked.client.get(path).status_code == 200
