"""How a method looks in every figure: its colour, marker and line; and the scales and legends all figures share."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from textwrap import fill
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from acyclic.errors import MissingExtraError
from acyclic.experiments.summary import n_cut, n_failed

if TYPE_CHECKING:
    from acyclic.experiments.cases import Scalar
    from acyclic.experiments.store import Record

__all__ = [
    "INK",
    "NOTE",
    "PAPER",
    "WIDTH",
    "Style",
    "count_scale",
    "label_text",
    "legend",
    "log_scale",
    "manner",
    "node_ticks",
    "note_hollow",
    "published_key",
    "style",
]

INK, PAPER, NOTE = "#1b1f24", "#ffffff", "#7a828c"
# Twice the width of a column in print.
WIDTH = 7.2
RESOLUTION = 160
_MANNER: Mapping[str, Any] = MappingProxyType(
    {
        "axes.edgecolor": INK,
        "axes.grid": True,
        "axes.labelsize": 8,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": 9,
        "figure.dpi": RESOLUTION,
        "font.family": ["sans-serif"],
        "font.size": 8,
        "grid.alpha": 0.35,
        "grid.linewidth": 0.5,
        "legend.fontsize": 7.5,
        "legend.frameon": False,
        "savefig.dpi": RESOLUTION,
        "svg.fonttype": "none",
        "svg.hashsalt": "acyclic",
        # A dollar sign in a label is a dollar sign, not mathematics.
        "text.parse_math": False,
        "xtick.labelsize": 7.5,
        "ytick.labelsize": 7.5,
    }
)
RUNS = "{} runs; {} behind each mean"
# Letters of 7 points to an inch: somewhat fewer than fit.
_LETTERS = 18
HOLLOW = "Hollow: mean with cut runs, which lines leave out; alone where most were cut ({} of {} runs; {} failed)"
LONGEST_LABEL = 60
_NOT_IN_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")


@dataclass(frozen=True)
class Style:
    """Colour, marker and line of a method."""

    colour: str
    marker: str | tuple[int, int, int]
    line: str = "-"

    def key(self, hollow: bool = False) -> dict[str, Any]:
        """Keywords for matplotlib's lines."""
        face = PAPER if hollow else self.colour
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.line,
            "markerfacecolor": face,
            "markeredgecolor": self.colour,
            "markersize": 7 if self.marker in ("*", (4, 1, 0)) else 5,
            "markeredgewidth": 0.8,
            "linewidth": 1.2,
        }


# The colours of Okabe and Ito, which all eyes tell apart, and greys; markers differ wherever methods meet in a figure.
_STYLES: Mapping[str, Style] = MappingProxyType(
    {
        "exponential": Style("#0072b2", "o"),
        "binomial": Style("#56b4e9", "s"),
        "spectral-radius": Style("#e69f00", "^"),
        "single-term": Style("#cc79a7", "v"),
        "fast-tmpi": Style("#d55e00", "D"),
        "tmpi": Style("#8c3d00", "P"),
        "geometric": Style("#005f45", "X"),
        "fast-geometric": Style("#009e73", ">"),
        "polynomial": Style("#6a3d9a", "<", "--"),
        "log-det": Style("#767676", "p", "--"),
        "balanced": Style("#8c3d00", "P", "--"),
        "analytic": Style("#0072b2", "o", "--"),
        "inverse-trace": Style("#a6a6a6", "h", "--"),
        "NoCurl": Style("#009e73", "P", "--"),
        "Ges": Style("#767676", "<", "--"),
        "Mmhc": Style("#a6a6a6", ">", "--"),
        "Mmpc": Style("#5c5c5c", "8", "--"),
        "EqualVariance": Style("#000000", "X", ":"),
        "SortnRegress": Style("#8a6d00", "p", ":"),
        "OrderSearch": Style("#8a6d00", "h", ":"),
        "learn": Style("#4b2e83", "*", ":"),
        "empty": Style("#767676", "8", ":"),
    }
)
_VARIANTS: Mapping[str, Mapping[str, Style]] = MappingProxyType(
    {
        "exponential": {
            "lbfgs": Style("#0072b2", (4, 1, 0), "--"),
            "adam": Style("#0072b2", (5, 1, 0), ":"),
            "straight": Style("#003f63", (4, 1, 0), "-."),
            "kkt_search": Style("#00456b", "^", "-."),
            "kkt_search-published": Style("#5b9bd0", "v", "--"),
        },
        "analytic": {
            "order 1": Style("#56b4e9", "o", "--"),
            "order 2": Style("#0072b2", "s", "--"),
            "order 3": Style("#cc79a7", "^", "--"),
            "order 4": Style("#009e73", "v", "--"),
        },
        "binomial": {"adam": Style("#56b4e9", "h", ":")},
        "spectral-radius": {"nobears": Style("#b37700", "p", "--")},
        "single-term": {"adam": Style("#cc79a7", "v", ":")},
        "fast-tmpi": {
            "lbfgs": Style("#d55e00", "d", "--"),
            "adam": Style("#d55e00", "D", ":"),
            "straight": Style("#7f3800", "d", "-."),
            "kkt_search": Style("#7f3800", "<", "-."),
            "kkt_search-published": Style("#f0a46c", ">", "--"),
        },
    }
)
_UNKNOWN = Style(NOTE, ".", "-.")


def style(method: Mapping[str, Scalar]) -> Style:
    """The look of a method: that of its constraint, else of its learner, varied by what else sets it apart.

    >>> style({"learner": "Golem", "constraint": "tmpi"}) == style({"learner": "Notears", "constraint": "tmpi"})
    True
    """
    base = str(method.get("constraint", method.get("learner", "")))
    straight = "straight" if method.get("detour") == 1 else None
    order = f"order {method['order']}" if "order" in method else None
    apart = (method.get("then"), method.get("bound"), method.get("inner"), order, straight)
    variant = next((str(name) for name in apart if name), "")
    return _VARIANTS.get(base, {}).get(variant) or _STYLES.get(base, _UNKNOWN)


def label_text(text: str) -> str:
    """A label that any text may be: XML has no place for control characters, and legends skip a leading underscore."""
    shown = _NOT_IN_XML.sub("\ufffd", text)
    shown = shown if len(shown) <= LONGEST_LABEL else f"{shown[: LONGEST_LABEL - 1]}…"
    return f" {shown}" if shown.startswith("_") else shown


def published_key(colour: str = INK) -> dict[str, Any]:
    """How a published value is drawn: a star in the colour of its method."""
    return {
        "marker": "*",
        "linestyle": "none",
        "color": PAPER,
        "markeredgecolor": colour,
        "markersize": 7,
        "markeredgewidth": 0.8,
        "zorder": 4,
    }


def legend(figure: Any, looks: Mapping[str, Style], published: bool = False) -> None:
    """The methods above all panels, in as many columns as there is room for."""
    from matplotlib.lines import Line2D

    if looks:
        labels = [label_text(label) for label in looks]
        lines = [Line2D([], [], **look.key()) for look in looks.values()]
        if published:
            labels.append("published")
            lines.append(Line2D([], [], **published_key()))
        columns = _columns(labels, figure.get_figwidth())
        figure.legend(lines, labels, loc="outside upper center", ncols=columns)


def note_hollow(figure: Any, records: Sequence[Sequence[Record]]) -> None:
    """Say below all panels how many runs there are, how many were cut or failed, and what hollow markers mean."""
    runs = list({record.case.key: record for some in records for record in some}.values())
    if not runs:
        return
    cut, failed, counts = n_cut(runs), n_failed(runs), {len(some) for some in records if some}
    least, most = min(counts), max(counts)
    said = RUNS.format(len(runs), least if least == most else f"{least} to {most}")
    if missing := sum(not some for some in records):
        said = f"{said}; {missing} of {len(records)} settings have none yet"
    if cut + failed:
        said = f"{said}.\n{HOLLOW.format(cut, len(runs), failed)}"
    width = int(_LETTERS * figure.get_figwidth())
    figure.supxlabel("\n".join(fill(line, width) for line in said.splitlines()), fontsize=7, color=NOTE)


def _columns(labels: Sequence[str], width: float) -> int:
    """How many columns of a legend fit into a width in inches; labels run down the columns, longer ones first."""
    for columns in range(min(5, len(labels)), 1, -1):
        least, longer = divmod(len(labels), columns)
        ends = [place * least + min(place, longer) for place in range(columns + 1)]
        longest = [max(map(len, labels[start:end])) for start, end in pairwise(ends)]
        if sum(0.62 + 0.06 * letters for letters in longest) <= width:
            return columns
    return 1


def node_ticks(ax: Any, values: Sequence[float]) -> None:
    """A logarithmic axis with ticks at these values and nowhere else."""
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

    if values:
        ax.set_xscale("log")
        ax.set_xlim(min(values) / 1.2, max(values) * 1.2)
        ax.xaxis.set_major_locator(FixedLocator(list(values)))
        ax.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    ax.xaxis.set_minor_locator(NullLocator())


def log_scale(ax: Any, which: Literal["x", "y"] = "y") -> None:
    """A logarithmic scale with labels in plain text."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis = ax.xaxis if which == "x" else ax.yaxis
    ax.set(**{f"{which}scale": "log"})
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: power_text(value)))
    axis.set_minor_locator(NullLocator())


def power_text(value: float) -> str:
    """A number of a logarithmic axis: plain if short, else as a power of ten.

    >>> power_text(20.0), power_text(0.01), power_text(1e-12)
    ('20', '0.01', '10⁻¹²')
    """
    if 1e-3 <= value < 1e5:
        return f"{value:g}"
    factor, _, power = f"{value:.0e}".partition("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if factor == "1" else f"{factor}·10{raised}"


def count_scale(ax: Any) -> None:
    """A logarithmic scale that has a zero: linear up to 1, with few round ticks."""
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

    ax.set_yscale("symlog", linthresh=1.0, linscale=0.4)
    low, high = ax.get_ylim()
    if high < 3 * max(low, 0.4):
        low, high = min(low, high / 3), max(1.2, 1.5 * high)
        ax.set_ylim(low, high)
    for steps in ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        ticks = [0.0, *(step * 10.0**power for power in range(-1, 7) for step in steps if step * 10.0**power >= 0.5)]
        if sum(low <= tick <= high for tick in ticks) >= 4:
            break
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    ax.yaxis.set_minor_locator(NullLocator())


@contextmanager
def manner() -> Iterator[None]:
    """Matplotlib's settings for our figures, for the time of a drawing and whatever the user's are."""
    try:
        from matplotlib.style import context
    except ImportError:
        raise MissingExtraError("drawing an experiment", "matplotlib", "plot") from None
    with context(["default", dict(_MANNER)]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield
