# ruff: noqa: E501 (one value a line: what the source says, how a claim reports it)
"""Answers, degrees and shares, said in one way by a source and in another by a claim."""

from __future__ import annotations


def _forms(text: str) -> dict[str, dict[str, list[str]]]:
    """Per line `value > wordings in the source > wordings in the claim`; a comma parts none, a bar does."""
    found = {}
    for line in text.strip().splitlines():
        value, source, claim = (part.strip() for part in line.split(" > "))
        found[value] = {"source": source.split(" | "), "claim": claim.split(" | ")}
    return found


FORMS: dict[str, dict[str, dict[str, list[str]]]] = {
    "verdict": _forms(
        """
        yes > Sure, no problem. | Yes, I can do that. | Of course, leave it to me. | Okay, I'll see to it. | Happy to. > agreed to | said yes to a request to | accepted the task to
        no > Sorry, I can't. | No, I have no time for that. | I'd rather not. | That's not my job, so no. | Not this time, I'm afraid. > refused to | declined to | said no to a request to
        """
    ),
    "reply": _forms(
        """
        yes > Good idea, let's do it. | I'm in favour. | Agreed. | Yes, that makes sense. | Fine with me. > agreed with | was in favour of | backed | supported
        no > I don't think we should. | No, that's a waste of money. | I'm against it. | I disagree. | Absolutely not. > rejected | was against | opposed | did not agree with
        """
    ),
    "outcome": _forms(
        """
        yes > Okay, then that's settled. | Yes, let's. | Definitely, go ahead. | Yes, everybody wants it. > agreed to | decided to | chose to
        no > No, let's drop it. | Better not. | Nobody wants that, so no. | No, it's off the table. > decided not to | chose not to | agreed not to
        """
    ),
    "modal": _forms(
        """
        sure > will definitely | is certain to | will in any case > will definitely | is certain to
        maybe > might | could possibly | may, nothing is fixed yet, > might | may | could possibly
        not > will not | definitely won't | is not going to > will not | is not going to
        """
    ),
    "often": _forms(
        """
        always > every single time | always, without fail | each and every time > always | without exception
        often > most of the time | quite often | more often than not > often | usually
        seldom > only now and then | rarely | once in a blue moon > rarely | only occasionally
        never > not once so far | never | it has not happened yet > never | not once
        """
    ),
    "share": _forms(
        """
        all > all of the | every one of the > all of the | all the
        most > most of the | the majority of the > most of the | more than half of the
        few > only a few of the | just a handful of the > only a few of the | few of the
        none > none of the | not one of the > none of the
        """
    ),
    "has": _forms(
        """
        yes > Yes, we do. | We do, yes. | Yes, plenty. | Certainly. > has | does have
        no > No, we don't. | I'm afraid not. | Not any more. | Unfortunately not. > does not have | has no
        """
    ),
    "dear": _forms(
        """
        less > cheaper | less expensive > cheaper | less expensive | lower in price
        more > more expensive | dearer > more expensive | pricier | higher in price
        """
    ),
    "weigh": _forms(
        """
        less > lighter > lighter | less heavy
        more > heavier > heavier | weightier
        """
    ),
    "move": _forms(
        """
        up > went up | rose | increased | climbed > rose | increased | went up | grew
        down > went down | fell | dropped | decreased > fell | decreased | went down | declined
        """
    ),
    "allowed": _forms(
        """
        yes > allowed | permitted | welcome > allowed | permitted
        no > not allowed | prohibited | strictly forbidden > not allowed | prohibited | forbidden
        """
    ),
    "mood": _forms(
        """
        glad > very happy with | delighted with | really pleased with > happy with | satisfied with | pleased with
        cross > not at all happy with | disappointed by | really annoyed about > unhappy with | disappointed with | dissatisfied with
        """
    ),
    "done": _forms(
        """
        yes > Yes, it's done. | Already finished. | Yes, this morning. | All done. > has already | has
        no > Not yet. | No, still waiting. | I haven't got round to it. | No, that's still open. > has not yet | has not
        """
    ),
}  # fmt: skip
