"""Archives of tests that lie in folders: the samples that the project's tests run."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path


def write(archive: Path, root: Path, files: Iterable[Path]) -> None:
    """Write files below a folder into an archive, which depends on nothing but them."""
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for path in files:
            content = path.read_bytes()
            about = tarfile.TarInfo(path.relative_to(root).as_posix())
            about.size = len(content)
            tar.addfile(about, io.BytesIO(content))


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive into a folder."""
    with tarfile.open(archive) as tar:
        # Python before 3.11.4 has no filters, and needs none for an archive of ours.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(folder)


def folders(archive: Path, description: str) -> tuple[str, ...]:
    """The folders of an archive that have a description, without unpacking it."""
    with tarfile.open(archive) as tar:
        return tuple(Path(name).parent.name for name in tar.getnames() if name.endswith(f"/{description}"))
