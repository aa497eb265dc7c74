"""A conference and a request to one certified table per paper; nothing is drawn.

In: `Conference`, `Request`. Out: `Plan` with expected errors, the menu of guarantees, ranked lists,
and whether the calibration fits the scores. Open `conference_plan` first, then `request`. Imports:
certify and earlier.
"""

from blindcal.planning.conference_plan import Answer, Plan, answer, plan, plan_conference
from blindcal.planning.guarantee_menu import Menu, menu
from blindcal.planning.request import Quota, Request

__all__ = ["Answer", "Menu", "Plan", "Quota", "Request", "answer", "menu", "plan", "plan_conference"]
