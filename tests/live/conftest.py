"""Programs that live conference systems run in environments of their own are no tests."""

from __future__ import annotations

collect_ignore_glob = ["*_site.py"]
