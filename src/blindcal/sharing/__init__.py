"""Past reviews and the key to noisy sums that another conference may use.

In: reviews of one past conference, a public list of people, a limit on privacy loss. Out:
differentially private sums, released once. Open `noisy_sums` first; `privacy_loss` has the limits.
Imports: deciding and earlier.
"""

from blindcal.sharing.noisy_sums import Share, share
from blindcal.sharing.privacy_loss import LossLimit, unlearned

__all__ = ["LossLimit", "Share", "share", "unlearned"]
