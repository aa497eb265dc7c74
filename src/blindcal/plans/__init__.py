"""Conference + `Guarantee` -> for each paper the exact table that will be sampled, and what it promises.

In: a conference, what was revealed before. Out: `PaperPlan`: integers over a power of two, a claim that is
exact for them, expected figures; the menu of guarantees; whether the calibration fits the scores; how many
papers exactly (`quotas`), how they are ranked (`listings`) and what that costs (`passing`). Nothing is
tossed. Imports: policies and below.
"""

from blindcal.plans.agreements import Agreement, agreement
from blindcal.plans.certificates import Claim, certify, claim
from blindcal.plans.exact import ExactPolicy
from blindcal.plans.menus import Menu, menu
from blindcal.plans.outcomes import OutcomeClaim, certify_outcomes
from blindcal.plans.papers import PaperPlan, plan_conference, plan_paper
from blindcal.plans.plans import Plan, plan
from blindcal.plans.quotas import Quota
from blindcal.plans.requests import Request

__all__ = [
    "Agreement",
    "Claim",
    "ExactPolicy",
    "Menu",
    "OutcomeClaim",
    "PaperPlan",
    "Plan",
    "Quota",
    "Request",
    "agreement",
    "certify",
    "certify_outcomes",
    "claim",
    "menu",
    "plan",
    "plan_conference",
    "plan_paper",
]
