"""A pretalx of its own in a folder, for test_pretalx.py: run by the Python of .venv-pretalx, never imported.

python pretalx_site.py FOLDER make < conference.json    a site with the events and people, by its own models
python pretalx_site.py FOLDER export EVENT csv|json     the organizer's export of reviews, by its own page
python pretalx_site.py FOLDER serve                     its API, on a port that is printed, until it is ended
python pretalx_site.py FOLDER states EVENT              the state of every proposal, from its database
"""

from __future__ import annotations

import contextlib
import datetime as dt
import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

PLACE, COMMAND, *GIVEN = sys.argv[1:]
FOLDER = Path(PLACE)
os.environ |= {
    "DJANGO_SETTINGS_MODULE": "pretalx.settings",
    "PRETALX_DATA_DIR": str(FOLDER),
    "PRETALX_DB_NAME": str(FOLDER / "pretalx.sqlite3"),
    "PRETALX_SITE_URL": "http://127.0.0.1",
}

import django  # noqa: E402
from django.conf import settings  # noqa: E402

# What pretalx says when it starts is not what was asked for.
with contextlib.redirect_stdout(sys.stderr):
    django.setup()
# Later versions keep their cache in Redis, which this site has not.
memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
settings.CACHES = dict.fromkeys(("default", *settings.CACHES), memory)

from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402
from django_scopes import scope, scopes_disabled  # noqa: E402
from pretalx.event.models import Event, Organiser, Team  # noqa: E402
from pretalx.mail.models import QueuedMail  # noqa: E402
from pretalx.person.models import User, UserApiToken  # noqa: E402
from pretalx.submission.models import Review, ReviewScore, ReviewScoreCategory, Submission  # noqa: E402

ORGANIZER = "orga@example.org"
# Since 2026.2 much of what its models did is in modules called domain.
LATER = importlib.util.find_spec("pretalx.event.domain") is not None
ENDPOINTS = {"submissions": ["retrieve", "actions"], "teams": ["list"], "reviews": ["list"]}


def domain(name: str) -> Any:
    """A module that only later versions have."""
    return importlib.import_module(f"pretalx.{name}")


def make(conference: dict[str, Any]) -> dict[str, object]:
    """Everything in the conference: `people` by email, and for each of the `events` titles and reviews."""
    call_command("migrate", verbosity=0)
    organizer = User.objects.create_user(email=ORGANIZER, name="Org A", password="secret-1")
    speaker = User.objects.create_user(email="speaker@example.org", name="Speaker")
    reviewers = {
        email: User.objects.create_user(email=email, name=name)
        for email, name in conference["people"].items()
    }
    company = Organiser.objects.create(name="Org", slug="org")
    rights = dict.fromkeys(("can_change_submissions", "can_change_event_settings"), True)
    crew = Team.objects.create(
        organiser=company, name="Crew", all_events=True, can_change_teams=True, **rights
    )
    crew.members.add(organizer)
    committee = Team.objects.create(organiser=company, name="Reviewers", all_events=True, is_reviewer=True)
    committee.members.add(*reviewers.values())
    for slug, papers in conference["events"].items():
        make_event(company, slug, papers, speaker, reviewers)
    token = UserApiToken.objects.create(name="round trip", user=organizer, endpoints=ENDPOINTS)
    (token.limit_events if LATER else token.events).set(Event.objects.all())
    return {"token": token.token}


def make_event(company: Any, slug: str, papers: dict[str, Any], speaker: Any, reviewers: Any) -> None:
    day = dt.date(2027, 5, 1)
    with scopes_disabled():
        given = {"name": slug, "slug": slug, "date_from": day, "date_to": day, "email": ORGANIZER}
        if LATER:
            event = domain("event.domain.event").create_event(organiser=company, locales=["en"], **given)
        else:
            event = Event.objects.create(organiser=company, locale_array="en", **given)
    with scope(event=event):
        known = speaker
        if LATER:
            known = domain("person.models").SpeakerProfile.objects.create(event=event, user=speaker, name="S")
        total = event.score_categories.get()
        total.scores.all().delete()
        beside = ReviewScoreCategory.objects.create(event=event, name="Relevance", is_independent=True)
        given = {
            (category, value): ReviewScore.objects.create(category=category, value=value, label=str(value))
            for category in (total, beside)
            for value in range(1, 7)
        }
        for title, reviews in papers.items():
            paper = Submission.objects.create(
                event=event, title=title, submission_type=event.cfp.default_type, content_locale="en"
            )
            paper.speakers.add(known)
            for email, score in reviews.items():
                review = Review.objects.create(
                    submission=paper, user=reviewers[email], text='Fine, "good"\nlines'
                )
                review.scores.set([given[total, score], given[beside, 1 + score % 6]])
                if LATER:
                    domain("submission.domain.review").update_review_score(review)
                else:
                    review.save(update_score=True)


def export(slug: str, form: str) -> bytes:
    """What the organizer's page of exports answers with everything ticked."""
    client = Client(HTTP_HOST="127.0.0.1")
    client.force_login(User.objects.get(email=ORGANIZER))
    ticked = ("score", "text", "submission_id", "submission_title", "created", "updated")
    data = dict.fromkeys((*ticked, "user_name", "user_email"), "on") | {
        "target": "all",
        "export_format": form,
    }
    response = client.post(f"/orga/event/{slug}/reviews/export/", data)
    assert response.status_code == 200, response.status_code
    return bytes(response.content)


def serve() -> None:
    from wsgiref.simple_server import WSGIRequestHandler, make_server

    from pretalx.wsgi import application

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with make_server("127.0.0.1", 0, application, handler_class=Quiet) as server:
        print(server.server_port, flush=True)
        server.serve_forever()


def states(slug: str) -> dict[str, object]:
    with scopes_disabled():
        event = Event.objects.get(slug=slug)
        papers = {paper.code: paper.state for paper in event.submissions.all()}
        waiting = QueuedMail.objects.filter(event=event, sent__isnull=True).count()
    return {"states": papers, "emails waiting": waiting}


if __name__ == "__main__":
    if COMMAND == "serve":
        serve()
    elif COMMAND == "export":
        sys.stdout.buffer.write(export(*GIVEN))
    else:
        print(json.dumps(make(json.load(sys.stdin)) if COMMAND == "make" else states(*GIVEN)))
