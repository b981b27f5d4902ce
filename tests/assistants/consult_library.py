"""Small guidelines for the tests of consults: general, for children, in pregnancy, of two countries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citewell.adapters.embedding.minilm import MiniLM
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import OWNER_ID
from citewell.types.consult import Signer

MALARIA = """# Malaria: treatment in primary care

Published by the World Health Organization in the manner of a summary; written for tests.

## Diagnosis

Malaria should be suspected in anyone with fever, rigors or headache who lives in an area where it occurs. \
Test every suspected case with a rapid test or a blood film before treatment.

## Uncomplicated malaria

### Treatment in adults and children

Treat adults and children with uncomplicated malaria with artemether-lumefantrine twice daily for 3 days. \
Children weighing 15 to 24 kg: give 40 mg artemether and 240 mg lumefantrine per dose. \
Adults weighing 35 kg or more: give 80 mg artemether and 480 mg lumefantrine per dose. \
Give paracetamol 15 mg/kg every 6 hours for fever (maximum 1 g per dose).

### Treatment in pregnancy

Treat pregnant women with uncomplicated malaria in the first trimester with artemether-lumefantrine. \
We recommend against primaquine in pregnancy (strong recommendation, high-certainty evidence). \
If artemether-lumefantrine is not available, give quinine 10 mg/kg every 8 hours for 7 days.

### Prevention of relapse

Give primaquine 0.25 mg/kg daily for 14 days to prevent relapse of malaria.

## Severe malaria

Give artesunate 2.4 mg/kg by injection at once for severe malaria. \
Children weighing less than 20 kg: give artesunate 3 mg/kg per dose. \
Refer people with severe malaria to hospital urgently.
"""

GHANA = """# Ghana standard treatment guidelines: fever and infections

Ministry of Health in the manner of a summary; written for tests.

## Malaria

Give quinine 8 mg/kg every 8 hours for 7 days where malaria is confirmed and artemisinin cannot be used. \
Doxycycline 100 mg twice daily for 7 days may be given with quinine to adults with malaria.

## Acute otitis media

Offer amoxicillin 40 mg/kg per day in two doses for 5 days to children with acute otitis media. \
Adults with acute otitis media: give amoxicillin 500 mg three times daily for 5 days. \
Give ibuprofen 10 mg/kg three times daily for pain in acute otitis media (maximum 400 mg per dose).

## Urinary tract infection

Give nitrofurantoin 100 mg twice daily for 5 days to women with a lower urinary tract infection. \
Trimethoprim 200 mg twice daily for 7 days is an alternative for urinary tract infection. \
In pregnancy give cefalexin 500 mg twice daily for 7 days for urinary tract infection.

## Hypertension

Give ramipril 2.5 mg once daily to adults with hypertension. \
Offer amlodipine 5 mg once daily to adults with hypertension where ramipril is not tolerated. \
Give atenolol 50 mg once daily for hypertension in adults whose heart beats fast.

## Community-acquired pneumonia

Give amoxicillin 500 mg three times daily for 5 days to adults with community-acquired pneumonia. \
Give clarithromycin 500 mg twice daily for 5 days to adults with pneumonia who are allergic to penicillin. \
Offer doxycycline 200 mg on the first day, then 100 mg once daily, as an alternative for pneumonia in adults. \
Give ceftriaxone 50 mg/kg once daily to children with severe pneumonia.

## Musculoskeletal pain

Offer ibuprofen 400 mg three times daily for musculoskeletal pain in adults. \
Give codeine 30 mg every 6 hours for severe musculoskeletal pain. \
Give aspirin 300 mg every 6 hours for musculoskeletal pain.
"""


def write_guidelines(folder: Path) -> list[Path]:
    """The files, ready to be added."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, text in (("malaria.md", MALARIA), ("ghana.md", GHANA)):
        (folder / name).write_text(text, "utf-8")
        made.append(folder / name)
    return made


@contextmanager
def with_guidelines(folder: Path, embedder: MiniLM) -> Iterator[App]:
    """An app whose library holds these guidelines."""
    with build(Settings(home=folder / "home")) as made:
        made.__dict__["embedder"] = embedder
        for path in write_guidelines(folder / "guidelines"):
            made.add(path)
        yield made


ADA = Signer(OWNER_ID, "Dr Ada", "GMC 1234567", "token")
"""Who signs in tests of the service, confirmed elsewhere."""
