"""Makes the sample library from the texts in scripts/samples: `python scripts/make_samples.py [--to FOLDER]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from samples.guideline_pdf import guideline_pdf
from samples.policy_docx import policy_docx

TEXTS = Path(__file__).parent / "samples"
SHIPPED = Path(__file__).parent.parent / "src" / "citewell" / "samples"


def make_samples(folder: Path) -> list[Path]:
    """Write the four samples into a folder; the same bytes each time."""
    made = {
        "breathlessness-guideline.pdf": guideline_pdf((TEXTS / "guideline.txt").read_text("utf-8")),
        "child-dehydration-chapter.nxml": (TEXTS / "chapter.nxml").read_bytes(),
        "anticoagulants-policy.docx": policy_docx((TEXTS / "policy.txt").read_text("utf-8")),
        "warfarin-leaflet.html": (TEXTS / "leaflet.html").read_bytes(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in made.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in made]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=SHIPPED, help="the folder to write into")
    for path in make_samples(parser.parse_args().to):
        print(f"{path.name}: {path.stat().st_size:,} bytes")
