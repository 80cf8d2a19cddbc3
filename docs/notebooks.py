"""Run an example of the gallery as the notebook that its readers download.

    python docs/notebooks.py docs/gallery/01_sachs.py ...

A notebook whose cells raise anything, a failed assertion among it, ends this with an error.
"""

import json
import sys
import tempfile
from pathlib import Path

import nbclient
import nbformat
from sphinx_gallery import gen_gallery, notebook, py_source_parser


def make_notebook(script: Path) -> nbformat.NotebookNode:
    """The notebook that the site offers for a script."""
    settings = {**gen_gallery.DEFAULT_GALLERY_CONF, "examples_dirs": str(script.parent)}
    _, blocks = py_source_parser.split_code_and_text_blocks(script)
    made = notebook.jupyter_notebook(blocks, settings, str(script.parent))
    return nbformat.reads(json.dumps(made), as_version=4)


def run(script: Path) -> int:
    """Run it in a kernel of its own; how many of its cells showed something."""
    page = make_notebook(script)
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(page, timeout=600, resources={"metadata": {"path": folder}}).execute()
    return sum(bool(cell.get("outputs")) for cell in page.cells)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        shown = run(Path(name).resolve())
        print(f"{name}: {shown} cells showed something")  # noqa: T201
        assert shown > 0
