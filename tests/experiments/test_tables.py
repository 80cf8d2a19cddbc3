import re

import pytest

from acyclic.experiments.constraint_tables import COMPLEXITY
from acyclic.experiments.markdown import Footnotes, cell, table
from acyclic.experiments.plans import Published
from acyclic.experiments.tables import page
from experiments import made_up

HOSTILE = "a|b\n# `c` *d* <script>$x_1$ [e](f)\x00\\"


def tables(text):
    """Every table of a page as rows of cells."""
    found = re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE)
    return [[re.split(r" (?<!\\)\| ", line[2:-2]) for line in table.splitlines()] for table in found]


@pytest.fixture
def plan():
    published = Published("MSE + exponential", {"n_nodes": 10}, "shd", 3.61, "Wei et al. 2020")
    return made_up.plan(published=(published,))


def hand_made(plan):
    exponential, tmpi = (made_up.setting(plan, f"MSE + {name}", n_nodes=10) for name in ("exponential", "TMPI"))
    return {
        exponential: [
            made_up.record(exponential, run, shd=shd, cpu_seconds=2.0, cut_cyclic=run == 0, varsortability=0.75)
            for run, shd in enumerate([2, 4, 6, 8])
        ],
        tmpi: [
            *(made_up.record(tmpi, run, shd=shd, varsortability=0.75) for run, shd in enumerate([2, 2, 4, 4])),
            made_up.record(tmpi, 4, status="failed", verdict="ValueError"),
            made_up.record(tmpi, 5, shd=3, stopped_early=True, varsortability=1.0),
        ],
    }


def test_every_number_is_the_one_computed_by_hand(plan):
    text = page(plan, hand_made(plan))
    shd, seconds, cut, lost = tables(text)
    assert shd[0] == ["Method", "d = 10", "d = 30"] and shd[1] == ["---"] * 3
    assert shd[2] == ["MSE + exponential", "5.0 ± 1.3 (4); published 3.61[^1]", "–"]
    assert shd[3] == ["MSE + TMPI", "3.00 ± 0.58 (4); 3.00 ± 0.45 (5) with 1 cut", "–"]
    assert shd[4] == ["EqualVariance", "–", "–"]
    # Over the four common runs the means are 3 and 5.
    assert shd[5][0] == "*MSE + TMPI over MSE + exponential, paired ratio [95 %] (runs)*"
    assert re.fullmatch(r"0\.60 \[0\.\d\d, \d\.\d\d\] \(4\)", shd[5][1])
    assert seconds[2:4] == [["MSE + exponential", "2.00", "–"], ["MSE + TMPI", "1.00; at least 1.00 with 1 cut", "–"]]
    assert cut[2:] == [["MSE + exponential", "25 %"]]
    assert lost[2:] == [["MSE + TMPI", "1 failed, 1 cut"]]
    # Runs 0 to 3 have 0.75, run 5 has 1.0: one value for each run, however many methods saw its data.
    assert "Varsortability of the data, mean: 0.80 at d = 10." in text
    assert "## ER2, Gaussian noise, n = 1000\n" in text
    assert text.endswith("[^1]: Wei et al. 2020\n")


def test_the_header_says_what_the_numbers_come_from(plan):
    text = page(plan, hand_made(plan))
    assert "- Runs: 0 to 5 per setting of 3 planned; 10 rows, 1 failed, 1 cut by a limit\n" in text
    assert "- Versions: acyclic 0.1, numpy 2.4.6, python 3.13.1\n- Threads: 1\n" in text
    assert "- Computed: 2026-11-01T10:00:00+00:00 to 2026-11-06T10:00:00+00:00\n" in text
    assert "![A small plan](figures/small.svg)" in text


def test_without_runs_every_cell_says_so(plan):
    text = page(plan, {})
    assert "Nothing has been computed yet." in text
    assert tables(text)[0][2:5] == [
        ["MSE + exponential", "–; published 3.61[^1]", "–"],
        ["MSE + TMPI", "–", "–"],
        ["EqualVariance", "–", "–"],
    ]


def test_a_restricted_method_has_no_cell_where_it_is_not_applied():
    methods = {
        "all": made_up.notears("exponential"),
        "some": made_up.method({"learner": "Ges"}, only={"n_nodes": (30,)}),
    }
    plan = made_up.plan(methods=methods)
    shd, *_ = tables(page(plan, made_up.records(plan)))
    assert shd[3][:2] == ["some", ""] and "±" in shd[3][2]


def test_a_table_of_one_size_has_a_column_for_each_number():
    plan = made_up.plan_of("table")
    first, second, _ = plan.settings()
    scores = {first: [(10, 9), (14, 13)], second: [(12, 8), (14, 10)]}
    records = {
        where: [made_up.record(where, run, shd=a, shd_cpdag=b, n_edges=20) for run, (a, b) in enumerate(pairs)]
        for where, pairs in scores.items()
    }
    text = page(plan, records)
    (table,) = tables(text)
    assert table[0] == [
        *("Method", "SHD", "best run", "published", "SHD of CPDAG", "best run", "published", "CPU seconds", "edges")
    ]
    assert table[2] == [
        "GraN-DAG",
        "12.0 ± 2.0 (2)",
        "10.0",
        "13[^1]",
        "11.0 ± 2.0 (2)",
        "9.00",
        "11[^1]",
        "1.00 ± 0.00 (2)",
        "20.0",
    ]
    assert table[3] == [
        "GraN-DAG/TMPI",
        "13.0 ± 1.0 (2)",
        "12.0",
        "12[^1]",
        "9.0 ± 1.0 (2)",
        "8.00",
        "",
        "1.00 ± 0.00 (2)",
        "20.0",
    ]
    assert table[4] == ["empty graph", "–", "", "", "–", "", "", "–", "–"]
    assert "SHD, GraN-DAG/TMPI over GraN-DAG, paired ratio [95 %] (runs): 1.08 [" in text
    assert text.count("[^1]:") == 1 and "## Sachs data" in text


def test_seconds_stand_beside_published_seconds():
    published = Published("EqualVariance", {}, "seconds", 882.22, "on a V100", 1.08)
    plan = made_up.plan(drawing="table", published=(published,))
    text = page(plan, made_up.records(plan))
    assert "882.22 ± 1.08[^1]" in text and text.endswith("[^1]: on a V100\n")


def test_the_quick_form_does_not_borrow_numbers_of_other_sizes():
    sized = Published("MSE + TMPI", {"n_nodes": 30}, "shd", 3.5, "x")
    plan = made_up.plan(published=(Published("EqualVariance", {}, "shd", 882.22, "y"), sized), quick=True)
    text = page(plan, {})
    assert "882" not in text and "published 3.5[^1]" in text


def test_counted_products_stand_beside_the_class_of_the_paper():
    plan = made_up.plan_of("products")
    text = page(plan, made_up.records(plan, 2))
    products, _, against_k, time = tables(text)
    assert re.findall("^## (.*)", text, flags=re.MULTILINE) == [
        "Against d; spectral radius = 0.5",
        "Against k; d = 300",
    ]
    assert products[0][2:] == [f"d = {d}, k = 20" for d in (10, 100, 300)]
    assert against_k[0][2:] == [f"spectral radius = {r}, k = {k}" for r, k in ((0.1, 6), (0.5, 20), (0.9, 132))]
    rows = {row[0]: row[1:] for row in products[2:]}
    assert {name: row[0] for name, row in rows.items()} == COMPLEXITY
    assert rows["geometric"][1:] == ["20.0", "200", "600"] and rows["tmpi"][1:] == ["40.0"] * 3
    # k is ⌊−14 / log ρ⌋ for the spectral radii 0.1, 0.5 and 0.9.
    assert {row[0]: row[2:] for row in against_k[2:]}["tmpi"] == ["12.0", "40.0", "264"]
    assert {row[0]: row[2:] for row in time[2:]}["tmpi"] == ["13.2", "44.0", "290"]


def test_the_stop_of_the_iteration_and_its_errors_are_listed():
    plan = made_up.plan_of("truncation")
    where = plan.settings()[0]
    values = {
        "k": [1, 2, 3, 4],
        "power": [1, 0.5, 0.25, 0.125],
        "value_error": [4.0, 3.0, 2.0, 1.0],
        "gradient_error": [8.0, 7.0, 6.0, 0.0],
        "stop": 3,
        "low": {"stop": 2},
        "high": {"stop": 4},
    }
    (table,) = tables(page(plan, {where: [made_up.record(where, measure="truncation", **values)]}))
    assert table[2] == ["ER2, d = 100", "0", "3 (2 to 4)", "0.250", "2.00", "6.00"]
    assert "No runs yet." in page(plan, {})


def test_norms_are_listed_by_order():
    plan = made_up.plan_of("gradient-norms")
    text = page(plan, made_up.records(plan, 1))
    table, shd, *_ = tables(text)
    assert table[0] == ["Constraint", *(f"order {order}" for order in (1, 2, 3, 5, 10, 20, 50, 100))]
    assert table[2][:3] == ["exponential", "0.900", "0.405"]
    assert "spectral radius 0.900" in text
    assert [row[0] for row in shd[2:5]] == ["MSE + exponential", "MSE + TMPI", "EqualVariance"]
    assert "No runs yet." in page(plan, {})


def test_hostile_labels_stay_in_their_cells():
    plan = made_up.plan(methods={HOSTILE: made_up.notears("exponential")}, title=HOSTILE, about=HOSTILE)
    text = page(plan, made_up.records(plan))
    assert "\x00" not in text and "<script" not in re.sub(r"\\<", "", text)
    assert [len(row) for row in tables(text)[0]] == [3, 3, 3]
    assert text.splitlines()[0].startswith(r"# a\|b \# ")


def test_cells_show_text_as_it_is():
    assert cell("a | b_c\n\t*d*") == r"a \| b\_c \*d\*"
    assert cell("MSE + TMPI (L-BFGS-B)") == "MSE + TMPI (L-BFGS-B)"


def test_empty_columns_are_left_out():
    assert table(["a", "b", "c"], [["1", "", "2"], ["", "", "3"]]) == "| a | c |\n| --- | --- |\n| 1 | 2 |\n|  | 3 |"


def test_a_source_has_one_footnote():
    notes = Footnotes()
    assert [notes.mark(source) for source in ("x", "y", "x", "")] == ["[^1]", "[^2]", "[^1]", ""]
    assert notes.lines() == ["[^1]: x", "[^2]: y"]
