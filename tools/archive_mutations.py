"""Ways to damage an archive of PyTorch: its bytes, or its documents in an archive that is whole."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from functools import partial
from random import Random

from file_mutations import MUTATIONS as BYTES
from text_mutations import MUTATIONS as TEXTS
from text_mutations import Mutation


def rewrite(mutation: Mutation, random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage the text of a document, and write the archive again."""
    try:
        content = _content(data)
        texts = [one for one in content if one.endswith(".json")]
        other = [_content(one)[name] for one in others for name in texts if name in _content(one)]
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError, OSError, IndexError):
        return data
    if not texts:
        return data
    name = max(texts, key=lambda one: (random.random() < 0.7, one.startswith("models"), one))
    content[name] = mutation(random, content[name], other or [content[name]])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as written:
        for place, one in content.items():
            written.writestr(zipfile.ZipInfo(f"model/{place}"), one)  # at no time
    return out.getvalue()


def _content(data: bytes) -> dict[str, bytes]:
    """The members of an archive, without its folder."""
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        return {one.partition("/")[2]: source.read(one) for one in source.namelist()}


MUTATIONS: dict[str, Mutation] = BYTES | {name: partial(rewrite, one) for name, one in TEXTS.items()}
