"""The first search from a cold process, on the sample library.

python bench/speed/start.py [--runs 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def timed(*command: str) -> float:
    """Seconds that a command takes, process start included."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        citewell = (sys.executable, "-m", "citewell.cli", "--home", home)
        add_s = timed(*citewell, "add", "--samples")
        searches = [timed(*citewell, "search", "dose for a child", "--json") for _ in range(options.runs)]
    imports = "import numpy, onnxruntime, tokenizers, sqlalchemy"
    bare = [timed(sys.executable, "-c", imports) for _ in range(options.runs)]
    search_s, bare_s = statistics.median(searches), statistics.median(bare)
    result = {
        "add_samples_s": round(add_s, 3),
        "first_search_s": round(searches[0], 3),
        "search_s": round(search_s, 3),
        "bare_imports_s": round(bare_s, 3),
        "ratio_to_bare_imports": round(search_s / bare_s, 2),
    }
    for key, value in result.items():
        print(f"{key:24} {value:8.3f}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
