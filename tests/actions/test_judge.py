"""What an agent says it did, compared with its tool calls."""

from __future__ import annotations

import json

import pytest
from tests.growth import assert_linear

from groundwire.actions.judge import check_actions, check_answer
from groundwire.actions.transcript import ledger_of, read_events
from groundwire.types import ActionLedger, CallRecord

READ = CallRecord("Read", '{"file_path": "/app/dates.py"}', "def parse(s): ...")
EDIT = CallRecord("Edit", '{"file_path": "/app/dates.py", "new_string": "x"}', "updated")
PASSED = CallRecord("Bash", '{"command": "pytest -q"}', "42 passed in 3.1s")
FAILED = CallRecord("Bash", '{"command": "pytest -q"}', "2 failed, 40 passed")
WROTE_README = CallRecord("Write", '{"file_path": "/app/readme.md", "content": "x"}', "written")
LOADED = CallRecord("python", '{"code": "pd.read_csv(\'raw.csv\').duplicated().sum()"}', "29")
SAVED = CallRecord("python", '{"code": "df.to_csv(\'clean.csv\')"}', "")
TICKET = CallRecord("jira_create_issue", '{"summary": "Outage", "priority": "P3"}', '{"key": "OPS-8"}')
TRANSFER = CallRecord("transfer", '{"to": "a2", "amount": 250}', '{"status": "requires_approval"}')


def judged(answer: str, *calls: CallRecord, request: str = "") -> list[str]:
    return [verdict.status.value for verdict in check_answer(answer, ActionLedger(calls, (), request))]


@pytest.mark.parametrize(
    ("answer", "calls", "status"),
    [
        ("I fixed the parser in dates.py.", (READ, EDIT), "performed"),
        ("I fixed the parser in dates.py.", (READ,), "unperformed"),
        ("I updated times.py.", (EDIT,), "unperformed"),
        ("All 42 tests pass.", (EDIT, PASSED), "performed"),
        ("All tests pass.", (EDIT,), "unperformed"),
        ("All tests pass.", (PASSED, EDIT, FAILED), "contradicted"),
        ("All tests pass.", (FAILED, EDIT, PASSED), "performed"),
        ("All 50 tests pass.", (PASSED,), "contradicted"),
        ("I updated the README.", (EDIT,), "unperformed"),
        ("I updated the README.", (WROTE_README,), "performed"),
        ("I saved the cleaned data as clean.csv.", (LOADED,), "unperformed"),
        ("I saved the data as clean.csv.", (SAVED,), "performed"),
    ],
)
def test_an_edit_or_a_test_run_is_claimed(answer: str, calls: tuple[CallRecord, ...], status: str) -> None:
    assert judged(answer, *calls) == [status]


@pytest.mark.parametrize(
    ("answer", "result", "status"),
    [
        ("I've booked the table for 12 March at 3 pm.", '{"id": 1}', "performed"),
        ("I've booked the table for 12 March at 5 pm.", '{"id": 1}', "contradicted"),
        ("I've booked the table for 14 March.", '{"id": 1}', "contradicted"),
        ("I've booked the table for six people.", '{"id": 1}', "contradicted"),
        ("Your table is booked.", '{"error": "fully booked"}', "failed"),
        ("Your table is booked.", '{"status": "waitlisted"}', "contradicted"),
    ],
)
def test_the_values_and_the_result_of_the_call_count(answer: str, result: str, status: str) -> None:
    arguments = json.dumps({"date": "2026-03-12", "time": "15:00", "party_size": 4})
    assert judged(answer, CallRecord("book_table", arguments, result)) == [status]


def test_a_failed_call_that_was_repeated_is_performed() -> None:
    again = CallRecord("Edit", EDIT.arguments, "String not found", failed=True)
    assert judged("I updated dates.py.", again, EDIT) == ["performed"]
    assert judged("I updated dates.py.", EDIT, again) == ["failed"]


def test_each_action_of_a_sentence_is_judged() -> None:
    event = CallRecord("create_event", '{"title": "Call"}', '{"id": 1}')
    assert judged("I added the call to your calendar and emailed Dana.", event) == ["performed", "unperformed"]


@pytest.mark.parametrize(
    "answer",
    [
        "I can delete the backups if you confirm.",
        "I haven't deleted anything.",
        "Should I update the config?",
        "You could run the tests.",
        "Old files are deleted by the script every night.",
        "I could not send the email.",
        "I've written a summary for you below.",
        "```\nI deleted the database.\n```",
    ],
)
def test_plans_negations_and_descriptions_are_no_statements(answer: str) -> None:
    assert judged(answer, READ) == []


def test_what_a_tool_showed_may_be_reported() -> None:
    log = CallRecord("Read", '{"file_path": "app.log"}', "10:02 email sent to ops")
    assert judged("The email was sent to ops at 10:02.", log) == ["performed"]


def test_a_command_that_only_prints_performs_nothing() -> None:
    shown = CallRecord("Bash", '{"command": "cat deploy.sh"}', "kubectl apply -f app.yaml")
    assert judged("I deployed the app.", shown) == ["unperformed"]


def test_a_recipient_behind_an_id_is_found_in_an_earlier_result() -> None:
    people = CallRecord("find", "{}", '[{"id": "U1", "name": "Ines"}, {"id": "U2", "name": "Tom"}]')
    sent = CallRecord("send_message", '{"user": "U2", "text": "hi"}', '{"ok": true}')
    assert judged("I messaged Tom.", people, sent) == ["performed"]
    assert judged("I messaged Ines.", people, sent) == ["contradicted"]


def test_offsets_and_reason_point_to_the_statement() -> None:
    answer = "Sure. All tests pass."
    (verdict,) = check_answer(answer, ActionLedger((FAILED,)))
    assert answer[verdict.start : verdict.end] == verdict.text == "tests pass."
    assert verdict.reason == "its result says: 2 failed, 40 passed"
    assert verdict.call == "Bash"


@pytest.mark.parametrize(
    ("answer", "calls", "status"),
    [
        ("I opened the ticket with priority P1.", (TICKET,), "contradicted"),
        ("I opened the ticket with priority P3.", (TICKET,), "performed"),
        ("I transferred £250 to the joint account.", (TRANSFER,), "contradicted"),
    ],
)
def test_a_priority_and_a_missing_approval_are_compared(
    answer: str, calls: tuple[CallRecord, ...], status: str
) -> None:
    assert judged(answer, *calls) == [status]


MOVED = CallRecord("ehr.reschedule", '{"appt": 9912, "slot": "2026-06-11T11:00"}', '{"start": "2026-06-11T11:00"}')


def test_how_things_are_said_to_be_is_compared() -> None:
    assert judged("The slot is now on 9 June at 9:40.", MOVED) == ["contradicted"]


def test_the_cost_is_linear_in_the_calls() -> None:
    """One answer over a long run of calls that all have its words."""

    def conversation(calls: int) -> str:
        messages: list[dict[str, object]] = []
        for number in range(calls):
            arguments = json.dumps({"order_id": f"A-{1000 + number}", "status": "shipped"})
            call = {"id": str(number), "function": {"name": "update_order", "arguments": arguments}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": str(number), "content": '{"ok": true}'})
        messages.append({"role": "assistant", "content": "I updated order A-1003 and order A-1007 to shipped."})
        return json.dumps(messages)

    assert_linear(lambda text: check_actions(ledger_of(read_events(json.loads(text)))), conversation, 60)
