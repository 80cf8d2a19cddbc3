import math
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from acyclic.errors import MissingExtraError
from acyclic.experiments import figures, styles
from acyclic.experiments.plans import DRAWINGS, load_plan, plan_names
from acyclic.experiments.styles import HOLLOW, manner, power_text, style
from experiments import made_up

pytest.importorskip("matplotlib")

HOSTILE = ["_hidden", "$x_{1$", "a & <b>\x00\x1b", "因果 🙂", "two\nlines", "long " * 40]


def texts(path):
    """What an SVG file says, piece by piece; its parser refuses what is not well-formed."""
    return ["".join(node.itertext()).strip() for node in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def figure_of(plan, records, layout=True):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with manner():
        figure = figures._DRAWINGS[plan.drawing](plan, records)
        FigureCanvasAgg(figure)
        if layout:
            figure.get_layout_engine().execute(figure)
    return figure


def outside(figure):
    """Texts and axes that the edge of the figure cuts, but for a pixel of rounding."""
    renderer, box = figure.canvas.get_renderer(), figure.bbox
    drawn = [*figure.legends, *figure.axes, *(ax.title for ax in figure.axes), *figure.texts]
    extents = [artist.get_tightbbox(renderer) for artist in drawn]
    return [
        artist
        for artist, extent in zip(drawn, extents)
        if extent and (extent.x0 < -1 or extent.y0 < -1 or extent.x1 > box.x1 + 1 or extent.y1 > box.y1 + 1)
    ]


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_every_drawing_has_its_labels(drawing, tmp_path):
    plan = made_up.plan_of(drawing)
    vector, printed, pixels, text = figures.draw(plan, made_up.records(plan, 2), tmp_path / "new")
    assert [str(path.relative_to(tmp_path / "new")) for path in (vector, printed, pixels, text)] == [
        *(f"figures/{drawing}.{ending}" for ending in ("svg", "pdf", "png")),
        f"{drawing}.md",
    ]
    assert printed.read_bytes().startswith(b"%PDF")
    said = texts(vector)
    # The one method of a figure about a single matrix needs no legend.
    labels = [] if drawing == "truncation" else [label for label in plan.methods if label != "Along the way"]
    assert set(labels) <= set(said) and "no runs yet" not in said
    assert pixels.read_bytes().startswith(b"\x89PNG") and pixels.stat().st_size > 5000
    assert text.read_text(encoding="utf-8").startswith("# A small plan\n")


def test_nothing_can_be_drawn(tmp_path):
    vector, *_ = figures.draw(made_up.plan(), {}, tmp_path)
    assert "no runs yet" in texts(vector)


@pytest.mark.parametrize("status", ["missing", "failed"])
@pytest.mark.parametrize("drawing", DRAWINGS)
def test_every_panel_without_finished_runs_says_so(drawing, status):
    plan = made_up.plan_of(drawing)
    measures = {label: method.measure for label, method in plan.methods.items()}
    failed = {s: [made_up.record(s, 0, measures[s.label], status="failed")] for s in plan.settings()}
    axes = figure_of(plan, failed if status == "failed" else {}, layout=False).axes
    assert axes and all([text.get_text() for text in ax.texts] == ["no runs yet"] for ax in axes)


def test_the_panels_of_a_grid_are_arranged_as_in_the_paper():
    plan = made_up.plan_of("grid")
    figure = figure_of(plan, made_up.records(plan, 2))
    assert [ax.get_title() for ax in figure.axes] == [
        f"{graph}, {noise}{ours}"
        for ours in ("", ": others")
        for graph in ("ER2", "ER3")
        for noise in ("Gaussian", "Exponential", "Gumbel")
    ]
    top, bottom = figure.axes[:3], figure.axes[3:6]
    assert {ax.get_ylabel() for ax in (top[0], bottom[0])} == {"SHD"} and top[1].get_ylabel() == ""
    assert top[0].get_ylim() == top[2].get_ylim() != bottom[0].get_ylim()
    assert {ax.get_xlabel() for ax in figure.axes} == {"Number of nodes d"}
    assert [tick.get_text() for tick in top[0].get_xticklabels()] == ["10", "30", "50", "100"]


def test_an_empty_panel_leaves_its_neighbours_their_scale():
    plan = made_up.plan_of("grid")
    records = {s: some for s, some in made_up.records(plan, 2).items() if s.data["noise"] == "gumbel"}
    first, _, third, *_ = figure_of(plan, records).axes
    assert [text.get_text() for text in first.texts] == ["no runs yet"] and not third.texts
    assert len([tick for tick in first.get_yticks() if first.get_ylim()[0] <= tick <= first.get_ylim()[1]]) >= 3


def test_points_are_means_with_standard_errors():
    plan = made_up.plan()
    where = made_up.setting(plan, "MSE + TMPI", n_nodes=10)
    ax, _ = figure_of(plan, {where: [made_up.record(where, run, shd=shd) for run, shd in enumerate([0, 4, 8])]}).axes
    ((line, _, (bars,)),) = ax.containers
    assert line.get_ydata().tolist() == [4.0]
    (low, high) = bars.get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((4 - 4 / 3**0.5, 4 + 4 / 3**0.5))


@pytest.mark.parametrize("shd", [0, 0.2, 1, 2.5, 9, 140, 3000])
def test_any_count_stands_between_ticks(shd):
    plan = made_up.plan()
    where = made_up.setting(plan, "MSE + TMPI", n_nodes=10)
    ax, _ = figure_of(plan, {where: [made_up.record(where, run, shd=shd) for run in range(3)]}).axes
    low, high = ax.get_ylim()
    assert low < shd < high
    assert len([tick for tick in ax.get_yticks() if low <= tick <= high]) >= 2
    assert shd > 0 or 0 in ax.get_yticks()


@pytest.mark.parametrize(
    "bad", [{"shd": 9, "stopped_early": True}, {"status": "failed"}, {"status": "failed", "stopped_early": True}]
)
def test_a_point_with_runs_that_did_not_end_well_is_hollow(bad):
    plan = made_up.plan()
    small, large = (made_up.setting(plan, "MSE + TMPI", n_nodes=d) for d in (10, 30))
    good = {s: [made_up.record(s, run, shd=5 + run) for run in range(2)] for s in (small, large)}
    solid = figure_of(plan, good)
    figure = figure_of(plan, {**good, large: [*good[large], made_up.record(large, 2, **bad)]})
    hollow = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == styles.PAPER]
    assert [round(line.get_xdata()[0]) for line in hollow] == [30]
    cut = int("stopped_early" in bad)
    said = f"5 runs; 2 to 3 behind each mean; 4 of 6 settings have none yet. {HOLLOW.format(cut, 5, 1 - cut)}"
    assert figure.get_supxlabel().split() == said.split()
    assert not outside(figure)
    assert solid.get_supxlabel() == "4 runs; 2 behind each mean; 4 of 6 settings have none yet"
    # The line leaves out what was cut; the hollow marker stands where the mean is with it.
    line = figure.axes[0].containers[0][0]
    assert line.get_ydata()[1] == 5.5 and hollow[0].get_ydata()[0] == pytest.approx(20 / 3 if "shd" in bad else 5.5)


def test_no_line_goes_through_the_few_that_were_not_cut():
    plan = made_up.plan()
    places = [made_up.setting(plan, "MSE + TMPI", n_nodes=d) for d in (10, 30)]
    fine = {s: [made_up.record(s, run, shd=5) for run in range(2)] for s in places}
    cut = [made_up.record(places[1], run, shd=90, stopped_early=True) for run in (2, 3, 4)]
    ax = figure_of(plan, {**fine, places[1]: [*fine[places[1]], *cut]}).axes[0]
    (hollow,) = [line for line in ax.lines if line.get_markerfacecolor() == styles.PAPER]
    heights = ax.containers[0][0].get_ydata()
    assert heights[0] == 5 and math.isnan(heights[1]) and hollow.get_ydata()[0] == 56


def test_a_bar_with_runs_that_did_not_end_well_is_hollow():
    plan = made_up.plan_of("table")
    first, second, _ = plan.settings()
    records = {
        first: [made_up.record(first, shd=5, stopped_early=True)],
        second: [made_up.record(second, shd=5)],
    }
    (bar,), (other,) = (c.patches for c in figure_of(plan, records).axes[0].containers if hasattr(c, "patches"))
    assert bar.get_facecolor() == (1, 1, 1, 1) and other.get_facecolor() != (1, 1, 1, 1)


def test_the_same_records_give_the_same_bytes(tmp_path):
    plan = made_up.plan_of("times")
    once, again = (figures.draw(plan, made_up.records(plan, 3), tmp_path / name) for name in "ab")
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in again]


def test_the_settings_of_the_user_change_nothing(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    plan = made_up.plan()
    first, *_ = figures.draw(plan, made_up.records(plan), tmp_path / "a")
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 5, "axes.facecolor": "red"}):
        second, *_ = figures.draw(plan, made_up.records(plan), tmp_path / "b")
        assert matplotlib.rcParams["font.size"] == 20
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("drawing", ["grid", "table"])
def test_hostile_labels_are_drawn_as_they_are(drawing, tmp_path):
    plan = replace(made_up.plan_of(drawing), published=(), title="$\\frac{$ <&>")
    plan = replace(plan, methods={label: made_up.notears("fast-tmpi", l1=place) for place, label in enumerate(HOSTILE)})
    vector, *_ = figures.draw(plan, made_up.records(plan, 2), tmp_path)
    said = texts(vector)
    assert {"_hidden", "$x_{1$", "a & <b>�", "因果 🙂", "two�lines"} <= set(said)
    assert outside(figure_of(plan, made_up.records(plan, 2))) == []


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize("name", plan_names())
def test_every_shipped_plan_fits_its_figure(name, quick):
    plan = load_plan(name, quick)
    figure = figure_of(plan, made_up.records(plan, 2), layout=not quick)
    assert quick or outside(figure) == []
    assert all(ax.get_xlabel() for ax in figure.axes) and all(ax.get_title() for ax in figure.axes)
    assert not [ax for ax in figure.axes if "no runs yet" in [text.get_text() for text in ax.texts]]


@pytest.mark.parametrize("name", [n for n in plan_names() if load_plan(n).drawing not in ("table", "truncation")])
def test_methods_that_meet_in_a_panel_differ_in_marker_and_look(name):
    plan = load_plan(name)
    for block in figures.blocks(plan.settings()):
        for settings in figures._losses([s for s in block if s.label != "Along the way"]).values():
            looks = {s.label: style(s.method) for s in settings}
            assert len({look.marker for look in looks.values()}) == len(looks)
            assert len({(look.colour, look.line) for look in looks.values()}) == len(looks)
            assert styles._UNKNOWN not in looks.values()


def test_a_method_looks_the_same_in_every_figure():
    looks = {}
    for name in plan_names():
        for setting in load_plan(name).settings():
            key = tuple(
                setting.method.get(part) for part in ("constraint", "then", "inner", "bound", "order", "detour")
            )
            if any(key):
                assert looks.setdefault(key, style(setting.method)) == style(setting.method)
    assert style({"learner": "Notears", "constraint": "fast-tmpi"}) == style({"constraint": "fast-tmpi"})


@pytest.mark.parametrize(("value", "text"), [(1e-3, "0.001"), (2e4, "20000"), (5e-7, "5·10⁻⁷"), (1e-120, "10⁻¹²⁰")])
def test_powers_are_plain_text(value, text):
    assert power_text(value) == text


def test_without_matplotlib_the_error_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(MissingExtraError, match=r"needs matplotlib; .*acyclic\[plot\]"):
        figures.draw(made_up.plan(), {}, tmp_path)
