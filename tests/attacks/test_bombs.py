"""Small files that would cost gigabytes or minutes are refused within the memory of an input, in seconds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from blindcal.errors import InputError
from blindcal.importers.people import read_conflicts, read_people
from small_bombs import BOMBS, MEMORY, rows, workbook

# Of this process alone, whatever its parent took.
STATUS = Path("/proc/self/status")
# A process for each file, whose peak begins with what it was forked from.
CODE = """
import os, re, resource, sys, time
from pathlib import Path
from blindcal.errors import InputError
from blindcal.importers import detect, import_reviews

def peak():
    return int(re.search(r"VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1]) // 1024

def read(path):
    resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    before, start = peak(), time.process_time()
    try:
        import_reviews(Path(path).read_bytes(), "x")
    except InputError as error:
        print(peak() - before, time.process_time() - start, str(error).replace("\\n", " "), flush=True)

for line in sys.stdin:
    if (child := os.fork()) == 0:
        read(line.rstrip("\\n"))
        os._exit(0)
    print(f"ended {os.waitpid(child, 0)[1]}", flush=True)
"""


@pytest.fixture(scope="module")
def reader() -> Iterator[subprocess.Popen[str]]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", CODE], **pipes) as process:
        yield process


@pytest.mark.skipif(not STATUS.exists(), reason="the peak of a process is read from Linux")
@pytest.mark.parametrize("name", BOMBS)
def test_small_files_cost_little_memory_and_seconds(
    name: str, reader: subprocess.Popen[str], tmp_path: Path
) -> None:
    make, message = BOMBS[name]
    path = tmp_path / name
    path.write_bytes(make())
    reader.stdin.write(f"{path}\n")
    reader.stdin.flush()
    answer = reader.stdout.readline()
    assert not answer.startswith("ended"), answer
    assert reader.stdout.readline() == "ended 0\n"
    memory, seconds, said = answer.split(" ", 2)
    assert message in said
    assert float(memory) <= 512
    assert float(seconds) <= 20


def test_every_reader_of_exports_counts() -> None:
    data = workbook(rows(40_000, '<c r="ALL{r}"><v>1</v></c>'))
    for read in (read_people, read_conflicts):
        with pytest.raises(InputError, match=f"^x.xlsx, sheet s, row [0-9]+: {MEMORY}"):
            read(data, "x.xlsx")
