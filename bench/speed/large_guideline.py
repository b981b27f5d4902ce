"""A guideline of 900 pages beside one of usual length: processor time for each page, and the most memory held.

python bench/speed/large_guideline.py --data FOLDER [--pages 900] [--json FILE]

The large one is made of the pages of real guidelines, one behind the other. Each is added to an empty library by the
command that a user calls, in a process of its own; `page_ratio` and `memory_ratio` are the large one over the usual.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from itertools import cycle
from pathlib import Path

import pypdfium2

USUAL = "nice-ng12-2025-05.pdf"


def joined(files: list[Path], pages: int, to: Path) -> int:
    """Write the pages of several files into one, and tell how many there are."""
    out = pypdfium2.PdfDocument.new()
    for file in cycle(files):
        source = pypdfium2.PdfDocument(file)
        out.import_pages(source, list(range(min(len(source), pages - len(out)))))
        if len(out) >= pages:
            break
    out.save(to)
    return len(out)


def added(file: Path) -> tuple[float, float]:
    """Processor seconds and MiB of adding a guideline to an empty library."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "citewell.cli", "guidelines", "add", str(file), "--home", home]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{file.name} could not be added.")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(folder: Path, pages: int) -> dict[str, float]:
    """Add both."""
    usual = folder / USUAL
    with tempfile.TemporaryDirectory() as made:
        large = Path(made) / "large.pdf"
        count = joined(sorted(folder.glob("*.pdf")), pages, large)
        usual_pages = len(pypdfium2.PdfDocument(usual))
        (usual_s, usual_mb), (large_s, large_mb) = added(usual), added(large)
    return {
        "pages": count,
        "usual_pages": usual_pages,
        "usual_s": usual_s,
        "large_s": large_s,
        "page_ratio": (large_s / count) / (usual_s / usual_pages),
        "usual_peak_mib": usual_mb,
        "large_peak_mib": large_mb,
        "memory_ratio": large_mb / usual_mb,
    }


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pages", type=int, default=900)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = measure(options.data / "guidelines", options.pages)
    for key, value in result.items():
        print(f"{key:16} {value:10.2f}")
    if options.json:
        options.json.write_text(json.dumps({key: round(value, 2) for key, value in result.items()}, indent=2) + "\n")


if __name__ == "__main__":
    main()
