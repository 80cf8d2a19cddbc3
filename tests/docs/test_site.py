"""The site: every page and example runs, every public name is in the reference, and what checks them can fail."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import acyclic

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.append(str(DOCS))

import check_links  # noqa: E402
import site_builder  # noqa: E402
import snippets  # noqa: E402

PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("guide/*.md"))]
WITH_CODE = [page for page in PAGES if any(block.runs for block in snippets.find_blocks(page.read_text("utf-8")))]
EXAMPLES = sorted(DOCS.glob("gallery/*.py"))


def run(*command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=900, env={**os.environ})
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_every_block_of_a_page_runs(page):
    """Unless it ran for the site already: `make docs` and this test keep what a page printed, until it or we change."""
    text = page.read_text(encoding="utf-8")
    try:
        printed = site_builder.answers(page, text)
    except SystemExit as error:
        pytest.fail(str(error))
    assert len(printed) == sum(block.runs for block in snippets.find_blocks(text))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("nbclient") is None or find_spec("sphinx_gallery") is None, reason="needs the extra docs")
@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_runs_as_a_notebook(example):
    run(DOCS / "notebooks.py", example)


def test_there_is_a_page_for_the_readme_and_the_guide():
    assert {"README.md", "docs/guide/first-graph.md", "docs/index.md"} <= {name_of(page) for page in WITH_CODE}


def test_examples_show_a_picture_and_assert_what_they_say():
    assert len(EXAMPLES) >= 15
    for example in EXAMPLES:
        text = example.read_text("utf-8")
        assert "plt.show()" in text, example
        assert re.search(r"^assert ", text, flags=re.MULTILINE), example


def public():
    names = {f"acyclic.{name}": getattr(acyclic, name) for name in acyclic.__all__}
    torch = {f"acyclic.torch.{name}": getattr(acyclic.torch, name) for name in acyclic.torch.__all__}
    return names | torch


def test_every_public_name_has_an_example():
    assert [name for name, value in public().items() if ">>>" not in (value.__doc__ or "")] == []


def test_the_reference_has_a_page_for_every_public_name():
    pages = site_builder.reference()
    assert {f"{name}.rst" for name in public()} | {"index.md"} == set(pages)
    assert all(f"({name}.rst)" in pages["index.md"] for name in public())
    assert "automethod:: fit" in pages["acyclic.Notears.rst"]
    assert "autoproperty:: n_edges" in pages["acyclic.Dag.rst"]


PAGE = """
```python
x = 2
print(x + 1)
```

<!-- prints -->

<!-- not run: code of another package -->
```python
import nothing_of_this_name
```

```sh
echo hello > here.txt && cat here.txt
```

```python
from pathlib import Path

print(Path("here.txt").read_text(), x)
```
"""


def test_blocks_run_in_order_in_one_place(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    assert snippets.run_page(page) == ["3\n", "hello\n", "hello\n 2\n"]
    filled = snippets.fill(PAGE, snippets.run_page(page))
    assert "```text\n3\n```" in filled and snippets.PRINTS not in filled
    assert [block.why for block in snippets.find_blocks(PAGE)][1] == "code of another package"


@pytest.mark.parametrize("bad", ["```python\nassert False\n```", "```sh\nfalse\n```"])
def test_a_block_that_fails_fails_its_page(bad, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(bad, encoding="utf-8")
    with pytest.raises((AssertionError, RuntimeError)):
        snippets.run_page(page)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="other.html#there">a</a>', None),
        ('<a href="https://example.org">a</a>', None),
        ('<a href="none.html">a</a>', "no file none.html"),
        ('<a href="other.html#none">a</a>', "no anchor other.html#none"),
        ('<a href="#none">a</a>', "no anchor #none"),
        ('<script src="https://example.org/a.js"></script>', "from the network"),
        ('<link rel="stylesheet" href="https://example.org/a.css">', "from the network"),
        ('<img src="none.png">', "no file none.png"),
    ],
)
def test_links_are_checked(body, problem, tmp_path):
    (tmp_path / "index.html").write_text(f"<html><body>{body}</body></html>")
    (tmp_path / "other.html").write_text('<p id="there"></p>')
    found = check_links.check_site(tmp_path)
    assert (found == []) if problem is None else (len(found) == 1 and problem in found[0])
