"""A conference and a request to one certified table per paper; nothing is drawn.

In: `Conference`, `Request`. Out: `Plan` with expected errors, the menu of guarantees, ranked lists,
and whether the calibration fits the scores. Open `conference_plan` first, then `request`. Imports:
certify and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.planning.conference_plan import Answer as Answer
    from blindcal.planning.conference_plan import Plan as Plan
    from blindcal.planning.conference_plan import answer as answer
    from blindcal.planning.conference_plan import plan as plan
    from blindcal.planning.conference_plan import plan_conference as plan_conference
    from blindcal.planning.guarantee_menu import Menu as Menu
    from blindcal.planning.guarantee_menu import menu as menu
    from blindcal.planning.request import Quota as Quota
    from blindcal.planning.request import Request as Request
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
