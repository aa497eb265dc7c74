"""What openreview-py does for test_openreview.py: run by the Python of .venv-openreview, never imported.

python openreview_site.py make VENUE < papers.json      a venue's notes and groups, by its classes, as JSON
python openreview_site.py fetch SERVER VENUE            submissions, people and committee, by its client
python openreview_site.py decide SERVER VENUE < FILE    Venue.post_decisions of a file
python openreview_site.py decisions SERVER VENUE        the decision of every paper, by its client
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

import openreview
from openreview.api import Group, Note, OpenReviewClient
from openreview.stages import default_content
from openreview.venue import Venue


def make(venue: str) -> dict[str, object]:
    """Notes and groups of the papers: each has its `title`, and the `reviews` by signature and person."""
    ratings = default_content.review_v2["rating"]["value"]["param"]["enum"]
    label = {rating["value"]: rating["description"] for rating in ratings}
    notes, people, members = [], [], set()
    for number, paper in enumerate(json.load(sys.stdin), start=1):
        forum, prefix = f"{venue[-15:-11]}p{number}", f"{venue}/Submission{number}"
        content = {"title": {"value": paper["title"]}, "venueid": {"value": f"{venue}/Submission"}}
        notes.append(
            Note(
                id=forum,
                forum=forum,
                number=number,
                invitations=[f"{venue}/-/Submission"],
                content=content,
                signatures=[f"{prefix}/Authors"],
                domain=venue,
            )
        )
        for place, (anonymous, person, score) in enumerate(paper["reviews"], start=1):
            signature = f"{prefix}/Reviewer_{anonymous}"
            answers = {
                "rating": {"value": label[score]},
                "confidence": {"value": 3},
                "review": {"value": "Fine. " * 99},
            }
            invitations = [f"{prefix}/-/Official_Review", f"{venue}/-/Edit"]
            notes.append(
                Note(
                    id=f"{forum}r{place}",
                    forum=forum,
                    replyto=forum,
                    number=place,
                    invitations=invitations,
                    content=answers,
                    signatures=[signature],
                    domain=venue,
                    tcdate=1767225600000 + place,
                )
            )
            people.append(Group(id=signature, members=[person], signatures=[venue], domain=venue))
            members.add(person)
    settings = {"submission_name": {"value": "Submission"}, "decision_name": {"value": "Decision"}}
    named = [Group(id=venue, content=settings), Group(id=f"{venue}/Reviewers", members=sorted(members))]
    return {"notes": [*map(stored, notes)], "groups": [*map(stored, [*named, *people])]}


def stored(item: Any) -> dict[str, Any]:
    """A note or group as the server keeps it."""
    return {name: value for name, value in vars(item).items() if value is not None}


def login(server: str) -> OpenReviewClient:
    return OpenReviewClient(baseurl=server, username="chair", password="secret")


def submissions(client: OpenReviewClient, venue: str, details: str) -> list[Note]:
    return list(client.get_all_notes(invitation=f"{venue}/-/Submission", details=details))


def fetch(server: str, venue: str) -> dict[str, object]:
    client = login(server)
    notes = submissions(client, venue, "replies")
    groups = [client.get_all_groups(prefix=f"{venue}/Submission{note.number}/Reviewer_") for note in notes]
    return {
        "notes": [{**note.to_json(), "number": note.number, "details": note.details} for note in notes],
        "people": {group.id: group.members[0] for found in groups for group in found},
        "committee": client.get_group(f"{venue}/Reviewers").members,
    }


def decide(server: str, venue_id: str) -> dict[str, object]:
    venue = Venue(login(server), venue_id, "openreview.net/Support")
    venue.submission_stage = openreview.stages.SubmissionStage()
    posted, errors = venue.post_decisions(sys.stdin.buffer.read())
    return {"posted": len(posted), "errors": errors}


def decisions(server: str, venue: str) -> dict[str, str]:
    return {
        str(note.number): reply["content"]["decision"]["value"]
        for note in submissions(login(server), venue, "directReplies")
        for reply in note.details["directReplies"]
        if any(invitation.endswith("/-/Decision") for invitation in reply["invitations"])
    }


if __name__ == "__main__":
    command, *given = sys.argv[1:]
    # openreview-py says how far it is: that is not what was asked for.
    with contextlib.redirect_stdout(sys.stderr):
        answer = {"make": make, "fetch": fetch, "decide": decide, "decisions": decisions}[command](*given)
    print(json.dumps(answer))
