"""Small files that would cost gigabytes or minutes are refused within the memory of an input, in seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from blindcal.errors import InputError
from blindcal.importers.people import read_conflicts, read_people
from small_bombs import BOMBS, MEMORY, rows, workbook

# Of this process alone, whatever its parent took.
STATUS = Path("/proc/self/status")
CODE = """
import re, resource, sys, time
from pathlib import Path
from blindcal.errors import InputError
from blindcal.importers import import_reviews

def peak():
    return int(re.search(r"VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1]) // 1024

resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
before, start = peak(), time.process_time()
try:
    import_reviews(Path(sys.argv[1]).read_bytes(), "x")
except InputError as error:
    print(peak() - before, time.process_time() - start, str(error).replace("\\n", " "))
"""


@pytest.mark.skipif(not STATUS.exists(), reason="the peak of a process is read from Linux")
@pytest.mark.parametrize("name", BOMBS)
def test_small_files_cost_little_memory_and_seconds(name: str, tmp_path: Path) -> None:
    make, message = BOMBS[name]
    path = tmp_path / name
    path.write_bytes(make())
    found = subprocess.run([sys.executable, "-c", CODE, path], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-500:]
    memory, seconds, said = found.stdout.split(" ", 2)
    assert message in said
    assert float(memory) <= 512
    assert float(seconds) <= 20


def test_every_reader_of_exports_counts() -> None:
    data = workbook(rows(40_000, '<c r="ALL{r}"><v>1</v></c>'))
    for read in (read_people, read_conflicts):
        with pytest.raises(InputError, match=f"^x.xlsx, sheet s, row [0-9]+: {MEMORY}"):
            read(data, "x.xlsx")
