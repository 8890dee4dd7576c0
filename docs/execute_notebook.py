"""Execute the example notebook, keep its outputs in it, and write it as a page of the site, for
which Sphinx needs no extension then: `python docs/execute_notebook.py`.

The kernel talks over sockets in the file system (IPC): by default it listens on the network's
loopback without encryption.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

NOTEBOOK = Path(__file__).parent / "notebook.ipynb"
PAGE = NOTEBOOK.with_suffix(".md")
_GENERATED = "<!-- Written by docs/execute_notebook.py from notebook.ipynb. -->"


def executed(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of its cells, run in a folder. Raises CellExecutionError for a
    cell that fails.
    """
    # The path of a socket may have no more than 107 characters: a folder of tests is too long.
    with tempfile.TemporaryDirectory() as sockets:
        connection = {"transport": "ipc", "connection_file": f"{sockets}/kernel.json"}
        client = NotebookClient(
            notebook,
            config=Config(KernelManager=connection),
            kernel_name="python3",
            timeout=300,
            record_timing=False,
            resources={"metadata": {"path": str(folder)}},
        )
        done: nbformat.NotebookNode = client.execute()
    done.metadata = {"kernelspec": done.metadata.kernelspec}
    for output in (output for cell in done.cells for output in cell.get("outputs", ())):
        _keep_the_richest(output.get("data", {}))
    return done


def _keep_the_richest(data: dict[str, str]) -> None:
    """Without the plain text beside HTML or a picture: it has the date in a campaign's name."""
    if len(data) > 1:
        data.pop("text/plain", None)


def kept() -> nbformat.NotebookNode:
    """The notebook as it is, with the outputs of its last execution."""
    return nbformat.read(NOTEBOOK, as_version=4)


def page(notebook: nbformat.NotebookNode) -> str:
    """The notebook as a page in Markdown, with its outputs."""
    blocks = []
    for cell in notebook.cells:
        fenced = cell.cell_type == "code"
        blocks.append(f"```python\n{cell.source}\n```" if fenced else cell.source)
        blocks += map(_output, cell.get("outputs", ()))
    return "\n\n".join([*blocks, "[The notebook](notebook.ipynb) as a file.", _GENERATED]) + "\n"


def _output(output: nbformat.NotebookNode) -> str:
    """What a cell gave, as HTML or as text."""
    data = output.get("data", {})
    drawn = data.get("text/html") or data.get("image/svg+xml")
    if drawn:
        return f'```{{raw}} html\n<div class="output">{drawn.strip()}</div>\n```'
    return f"```text\n{(data.get('text/plain') or output.get('text', '')).strip()}\n```"


def main() -> None:
    """Execute the notebook in place, and write its page."""
    with tempfile.TemporaryDirectory() as folder:
        done = executed(kept(), Path(folder))
    nbformat.write(done, NOTEBOOK)
    PAGE.write_text(page(done))
    sys.stdout.write(f"{NOTEBOOK}\n{PAGE}\n")


if __name__ == "__main__":
    main()
