"""Measure the sample briefs again, and keep each as a result archive (`make samples`).

`make samples SAMPLES="simulated engines"` measures some. A sample whose plan cannot run is left
as it is, with what it needs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kneebench import load
from kneebench.results.redaction import pack

HERE = Path(__file__).parent
COMMAND = (sys.executable, "-m", "kneebench", "run")


def measure(name: str) -> bool:
    """Run the plan of a sample, and pack what it measured with stand-ins for what is of this
    machine. False where it did not run. What was measured is removed only when it is packed.
    """
    out = Path(tempfile.mkdtemp(prefix="samples-", dir=Path.cwd()))
    options = ("--fresh", "--no-brief", "--yes", "--out", out)
    print(f"== {name}, into {out}", flush=True)
    if subprocess.run([*COMMAND, HERE / f"{name}.toml", *options], check=False).returncode:
        return False
    [folder] = out.iterdir()
    made = out / f"{name}.kneebench"
    pack(load(folder), made, redact=True)
    made.replace(HERE / made.name)
    shutil.rmtree(out)
    return True


def main(names: list[str]) -> int:
    """Measure the samples of these names; all of them without names."""
    known = sorted(file.stem for file in HERE.glob("*.toml"))
    if unknown := sorted({*names} - {*known}):
        print(f"no sample {unknown[0]!r}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    failed = [name for name in names or known if not measure(name)]
    if failed:
        print(f"not measured: {', '.join(failed)} (see above)", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
