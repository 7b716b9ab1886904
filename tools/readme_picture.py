"""Take the picture of the README again: the page of a report, in Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tosajit as tj

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/assets/report.png"
SIZE = "1400,770"


def main() -> int:
    """Write the picture of a model's report: that of the path that is given, or of a sample."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        sys.exit("there is no Chromium here: install it (apt-get install chromium)")
    model = Path(sys.argv[1]) if len(sys.argv) > 1 else tj.samples.path("resnet8", "model.tflite")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        tj.simulate(model, "ethos-u55-128").to_html(page)
        flags = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={SIZE}"]
        command = [browser, *flags, f"--screenshot={PICTURE}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
