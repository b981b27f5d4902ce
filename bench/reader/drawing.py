"""The teacher writes claims: all claims of an abstract at once, token by token, drawn by chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.reader.needs import torch
from bench.reader.shared import Shared, blocks
from bench.reader.teacher import Teacher

TEMPERATURE, TOP_SHARE, TOP_TOKENS = 0.9, 0.95, 64
NEW_TOKENS, TINY_NEW_TOKENS = 44, 4
LOOK_EVERY, DONE_SHARE = 6, 0.985
"""Every six tokens: where nearly all claims have ended, the rest is given up."""
UNFINISHED = ""


@torch.no_grad()
def write(teacher: Teacher, abstracts: Sequence[str], labels: Sequence[int], *, size: int = 128) -> list[list[str]]:
    """For each abstract a claim of each kind that is asked for; one that did not end is empty."""
    order = sorted(range(len(abstracts)), key=lambda number: len(teacher.prompts.body([abstracts[number]])))
    said: list[list[str]] = [[] for _ in abstracts]
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        for number, claims in zip(chosen, _claims(teacher, [abstracts[one] for one in chosen], labels), strict=True):
            said[number] = claims
    return said


def _claims(teacher: Teacher, abstracts: Sequence[str], labels: Sequence[int]) -> Iterator[list[str]]:
    """The claims of abstracts that are read together."""
    words = teacher.words
    ends = [words.end, words.pad, words.read(["\n"])[0][0]]
    shared = Shared(teacher, abstracts)
    tokens, is_token = blocks([[teacher.prompts.write[label] for label in labels]] * len(abstracts), words.pad)
    done = torch.zeros(tokens.shape[:2], dtype=torch.bool, device=tokens.device)
    drawn = []
    for count in range(1, 1 + (TINY_NEW_TOKENS if teacher.tiny else NEW_TOKENS)):
        token = _draw(teacher.model.lm_head(shared.step(tokens, is_token)).float())
        token = torch.where(done, words.pad, token)
        done |= torch.isin(token, torch.tensor(ends, device=token.device))
        drawn.append(token)
        if count % LOOK_EVERY == 0 and float(done.float().mean()) > DONE_SHARE:
            break
        tokens = token[..., None]
        is_token = torch.ones_like(tokens, dtype=torch.bool)
    for rows, ended in zip(torch.stack(drawn, -1).tolist(), done.tolist(), strict=True):
        texts = words.say([_until_end(row, ends) for row in rows])
        whole = [text.split("\n")[0].strip() for text in texts]
        yield [text if is_whole or teacher.tiny else UNFINISHED for text, is_whole in zip(whole, ended, strict=True)]


def _draw(said: torch.Tensor) -> torch.Tensor:
    """One token for each row, among the likeliest that make up most of the chance."""
    values, tokens = (said / TEMPERATURE).topk(TOP_TOKENS, -1)
    chances = torch.softmax(values, -1)
    chances = chances * (chances.cumsum(-1) - chances < TOP_SHARE)
    place = torch.multinomial(chances.flatten(0, 1), 1).view(*said.shape[:2], 1)
    return tokens.gather(-1, place)[..., 0]


def _until_end(row: list[int], ends: Sequence[int]) -> list[int]:
    """The tokens before the first that ends a text.

    >>> _until_end([5, 6, 0, 7], (0, 1))
    [5, 6]
    """
    return row[: next((place for place, token in enumerate(row) if token in ends), len(row))]
