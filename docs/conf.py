"""Sphinx: how the site is built. `docs/site_builder.py` calls it with the pages that it gathered."""

import contextlib
import functools
import importlib
import inspect
import os
import sys
import warnings
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT / "src")]

import acyclic  # noqa: E402

project, author, copyright = "acyclic", "The acyclic developers", "The acyclic developers"
version = release = acyclic.__version__
language = "en-GB"

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["gallery/*.ipynb", "gallery/*.py", "gallery/*.zip", "gallery/*.md5"]
default_role = "py:obj"
nitpicky = True
# The terms of YAML that sphinx-gallery writes and the words of scikit-learn's own docstrings.
suppress_warnings = ["config.cache"]

autodoc_typehints = "none"
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline", "attrs_block"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = "acyclic"
html_static_path = [str(DOCS / "static")]
html_css_files = ["site.css"]
html_favicon = str(DOCS / "static" / "mark.svg")
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None
html_theme_options = {
    "logo": {"text": "acyclic", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc", "sg_download_links"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "changelog": [], "faq": []}
html_context = {"default_mode": "auto"}
templates_path = []


sphinx_gallery_conf = {
    "examples_dirs": [str(DOCS / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/\d\d_",
    "ignore_pattern": r"__init__|^_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "reference_url": {"acyclic": None},
    "doc_module": ("acyclic",),
    "capture_repr": ("__repr__",),
    "abort_on_example_error": False,
    "image_srcset": ["2x"],
    "reset_modules": ("matplotlib",),
    "plot_gallery": "True",
    "parallel": 2,
    "nested_sections": False,
    "thumbnail_size": (480, 320),
}
warnings.filterwarnings("ignore", category=UserWarning, message="FigureCanvasAgg is non-interactive")
# An example that used much memory has the next one begin in a fresh process.
warnings.filterwarnings("ignore", category=UserWarning, message="A worker stopped while some jobs were given")
os.environ.setdefault("MPLBACKEND", "agg")

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def _resolve(app, env, node, contnode):
    """A name that the docstrings use: the page of the public name that it is, or plain text if it is private.

    A name that is nowhere in the package stays a warning.
    """
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].removeprefix("~")
    value = _find(target, node.get("py:module"), node.get("py:class"))
    if value is None:
        # scikit-learn's own classes are bases of ours, and docstrings name parameters in the same way as functions.
        outside = target.startswith(("numpy.", "scipy.", "sklearn.", "torch.", "networkx."))
        return contnode if outside or target in _parameters() else None
    for name in [*acyclic.__all__]:
        if getattr(acyclic, name) is value:
            domain = env.get_domain("py")
            from_doc = node.get("refdoc", env.docname)
            return domain.resolve_xref(env, from_doc, app.builder, "obj", f"acyclic.{name}", node, contnode)
    return contnode


@functools.cache
def _parameters():
    """The names of the parameters and attributes of everything public."""
    modules = [module for name, module in sys.modules.items() if name.startswith("acyclic.")]
    classes = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    names = {name for kind in classes for name in getattr(kind, "__annotations__", ())}
    for value in (getattr(acyclic, name) for name in acyclic.__all__):
        kinds = value.__mro__ if isinstance(value, type) else ()
        called = [value, *(member for kind in kinds for member in vars(kind).values() if inspect.isroutine(member))]
        for function in called:
            with contextlib.suppress(TypeError, ValueError):
                names |= set(inspect.signature(function).parameters)
    return names


def _find(target, module, owner):
    """The object of that name as seen from a class or module of the package; None where there is none."""
    homes = [target]
    public = f"{module}.{owner}" if owner else None
    if public:
        homes.append(f"{public}.{target}")
        kind = _import(public)
        if isinstance(kind, type):
            for base in kind.__mro__:
                homes += [f"{base.__module__}.{target}", f"{base.__module__}.{base.__qualname__}.{target}"]
    homes += [
        f"{home}.{target}" for home in ("acyclic", "acyclic.types", "acyclic.facts", "acyclic.report", "builtins")
    ]
    homes += [f"{home}.{target}" for home in sorted(sys.modules) if home.startswith("acyclic.")]
    return next((value for value in map(_import, homes) if value is not None), None)


def _import(path):
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            annotated = part in getattr(value, "__annotations__", {})
            value = getattr(value, part, value if annotated else None)
            if value is None:
                return None
        return value
    return None


def _link_names(app, doctree):
    """Public names in the running text of pages lead to the reference: `learn()`, `acyclic.learn`, `Notears`."""
    if app.env.docname.startswith("reference/acyclic"):
        return
    known = {*acyclic.__all__}
    for node in list(doctree.findall(nodes.literal)):
        if isinstance(node.parent, nodes.reference | nodes.title | addnodes.pending_xref) or "code" in node["classes"]:
            continue
        text = node.astext()
        name = text.removeprefix("acyclic.").partition("(")[0]
        called = text.startswith("acyclic.") or text == f"{name}()" or (name[:1].isupper() and text == name)
        if name in known and called:
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=f"acyclic.{name}", refexplicit=True, refwarn=True
            )
            node.replace_self(link)
            link += node


def _keep_bars(app, what, name, obj, options, lines):
    """Bars around a term are a size or a norm in our docstrings, and no mark of reStructuredText."""
    for place, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = line.split("``")
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[place] = "``".join(parts)


def _inherit_attributes(app, what, name, obj, options, lines):
    """The attributes that a public class has from one that is not public belong on its page."""
    if what != "class" or "Attributes" in lines:
        return
    public = {getattr(acyclic, known) for known in acyclic.__all__}
    for base in obj.__mro__[1:]:
        text = (inspect.getdoc(base) or "").splitlines()
        if base.__module__.startswith("acyclic") and base not in public and "Attributes" in text:
            start = text.index("Attributes")
            ends = [place - 1 for place in range(start + 2, len(text)) if set(text[place]) == {"-"}]
            lines += ["", *text[start : min(ends, default=len(text))], ""]
            return


def setup(app):
    """Register what is ours."""
    app.connect("autodoc-process-docstring", _inherit_attributes, priority=1)
    app.connect("autodoc-process-docstring", _keep_bars, priority=2)
    app.connect("missing-reference", _resolve)
    app.connect("doctree-read", _link_names)
