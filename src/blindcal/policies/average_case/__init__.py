"""Policies for scores that are not seen yet: errors averaged over what a pair of reviewers may write.

In: two reviewers. Out: the frontier of average errors (`averages`), from the distribution of the likelihood
ratio (`spreads`: by quadrature, in closed form, for curved reviewers).
"""
