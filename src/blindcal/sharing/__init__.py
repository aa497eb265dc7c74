"""Past reviews + key -> noisy sums that a past conference may give away, sealed once, published.

    share(reviews, committee, Limit(epsilon=1.0), "key.bin", "release.csv")    -> Share

In: the reviews of one past conference, a public list of people, a limit of privacy loss, the key. Out: a
table of noisy points for each person of the list, and a statement of what it promises. How it is read, and
what a fit makes of it, is in `fitting.points` and `fitting.shared`. Imports: decisions and below; OpenDP for
noise.
"""

from blindcal.sharing.accounts import Account, read_account
from blindcal.sharing.limits import Limit, unlearned
from blindcal.sharing.shares import Share, share

__all__ = ["Account", "Limit", "Share", "read_account", "share", "unlearned"]
