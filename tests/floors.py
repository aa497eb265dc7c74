"""The floors of the house, for the tests of its order."""

# The floors of the house, in the order of the line of data: imports point to the left, never to the right.
FLOORS = [
    "errors",
    "cells",
    "checks",
    "workers",
    "highs",
    "files",
    "reviews",
    "orientations",
    "reviewers",
    "fitting",
    "assignments",
    "beliefs",
    "policies",
    "plans",
    "decisions",
    "audits",
    "calibrators",
    "simulations",
    "paper",
    "importers",
    "cli",
]
