"""Claims: each turns when its data are made worse by a factor of two, and is undecided where the data do not tell."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from acyclic.experiments.acceptance import checks, write_summary
from acyclic.experiments.claims import Check, Claim, Standing, Where, claims
from acyclic.experiments.plans import load_plan, plan_names
from acyclic.experiments.store import Store
from experiments import made_up

PLANS = {name: load_plan(name) for name in plan_names()}
CLAIMS = claims(list(PLANS.values()))
MET, NOT_MET, UNDECIDED = Standing.MET, Standing.NOT_MET, Standing.UNDECIDED


def runs(where, numbers, metric, **more):
    """The setting of a claim with these numbers, one for each run."""
    found = where.find({where.plan: dict.fromkeys(PLANS[where.plan].settings(), ())})
    values = [{metric: number, **more} for number in numbers]
    return {found: [made_up.record(found, run, **one) for run, one in enumerate(values)]}


def evidence(claim, factor=1.0, count=40, spread=0.05):
    """Runs at which a claim holds, ours multiplied by a factor."""
    low, high = claim.accepted
    middle = math.sqrt(low * high) if low else 0.75 * high
    waves = [1 + spread * (1 if run % 2 else -1) for run in range(count)]
    results = {plan: {} for plan in PLANS}
    scale = 8.0 if claim.others else 1.0
    for place, where in enumerate([claim.ours, *claim.others.values()]):
        base = scale * (middle * factor if place == 0 else 1.0)
        results[where.plan] |= runs(where, [base * wave for wave in waves], claim.metric)
    return results


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text)
def test_every_claim_turns_when_the_data_are_made_worse_by_a_factor_of_two(claim):
    assert claim.check(evidence(claim)).standing is MET
    assert claim.check(evidence(claim, factor=2.0)).standing is NOT_MET


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text)
def test_every_claim_is_undecided_without_enough_runs_or_where_its_interval_meets_a_bound(claim):
    few = claim.check(evidence(claim, count=claim.enough - 1))
    assert few.standing is UNDECIDED and few.width == math.inf and len(few.settings) == 1 + len(claim.others)
    assert f"it takes {claim.enough} runs to decide" in few.measured
    at_the_bound = claim.check(evidence(claim, factor=claim.accepted[1] / _middle(claim), spread=0.3))
    if not claim.others:  # ratios of runs that rise and fall together have no spread
        assert at_the_bound.standing is UNDECIDED and 0 < at_the_bound.width < 1


def _middle(claim):
    low, high = claim.accepted
    return math.sqrt(low * high) if low else 0.75 * high


def test_a_ratio_with_noise_of_its_own_is_undecided_at_its_bound():
    claim = next(c for c in CLAIMS if "figure-2, ER2, d = 50" in c.text)
    (theirs,) = claim.others.values()
    noisy = [5.0 * (0.5 if run % 3 else 2.0) for run in range(40)]
    results = {"figure-2": {**runs(claim.ours, noisy, "shd"), **runs(theirs, [10.0] * 40, "shd")}}
    found = claim.check(results)
    assert found.standing is UNDECIDED and 0 < found.width < 1


def test_claims_are_many_and_have_names_of_their_own():
    assert len(CLAIMS) > 60 and len({claim.text for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        for where in (claim.ours, *claim.others.values()):
            settings = PLANS[where.plan].settings()
            assert where.find({where.plan: dict.fromkeys(settings, ())}) is not None, claim.text


def test_without_runs_nothing_is_decided():
    found = checks([(plan, {}) for plan in PLANS.values()])
    assert {(check.standing, check.measured, check.settings) for check in found} == {(UNDECIDED, "not computed", ())}
    planned = checks([(plan, dict.fromkeys(plan.settings(), ())) for plan in PLANS.values()])
    assert {check.standing for check in planned} == {UNDECIDED} and all(check.settings for check in planned)


def test_runs_that_were_cut_decide_nothing_alone():
    claim = next(c for c in CLAIMS if c.text.startswith("NOTEARS (exponential), Gaussian ER2, d = 10"))
    whole = runs(claim.ours, [3.5, 3.7] * 20, "shd")
    (where,) = whole
    cut = [made_up.record(where, 40 + run, shd=9.0, stopped_early=True) for run in range(40)]
    assert claim.check({"figure-2": whole}).standing is MET
    mixed = claim.check({"figure-2": {where: [*whole[where], *cut]}})
    assert mixed.standing is UNDECIDED and "with the runs that were cut" in mixed.measured
    assert claim.check({"figure-2": {where: cut}}).standing is UNDECIDED
    few = [replace(record, values={**record.values, "shd": 3.6}) for record in cut[:3]]
    assert claim.check({"figure-2": {where: [*whole[where], *few]}}).standing is MET


def test_no_claim_on_a_published_level_stays_met_when_the_stored_errors_double(tmp_path):
    pytest.importorskip("polars")
    stored = Path(__file__).parents[2] / "docs" / "reproduction" / "results.parquet"
    with Store(tmp_path / "results.sqlite") as store:
        store.read_parquet(stored)
        levels = [claim for claim in CLAIMS if "as published" in claim.text]
        results = {name: PLANS[name].records(store) for name in {claim.ours.plan for claim in levels}}
    for claim in levels:
        where = claim.ours.find(results)
        before = claim.check(results)
        worse = [replace(r, values={**r.values, "shd": 2 * r.values["shd"]}) for r in results[claim.ours.plan][where]]
        after = claim.check({claim.ours.plan: {where: worse}})
        assert after.standing is not MET, (before, after)


def test_the_page_leads_to_every_figure(tmp_path):
    plans = [load_plan(name, quick=True) for name in plan_names()]
    path = write_summary([(plan, made_up.records(plan, 1)) for plan in plans], tmp_path / "new")
    text = path.read_text(encoding="utf-8")
    assert path.name == "summary.md"
    for plan in plans:
        assert f"(figures/{plan.name}.svg)" in text and f"[Tables]({plan.name}.md) in its quick form. Runs: " in text
    assert " claims: 0 met, 0 not met, " in text


def test_a_check_is_shown_with_its_standing(tmp_path, monkeypatch):
    from acyclic.experiments import acceptance

    monkeypatch.setattr(acceptance, "checks", lambda evidence: [Check("a | b", "1.0 [0.5, 2]", NOT_MET)])
    text = write_summary([], tmp_path).read_text()
    assert r"| a \| b | 1.0 \[0.5, 2\] | **not met** |" in text and "Of 1 claims: 0 met, 1 not met" in text


def test_a_claim_names_its_setting_by_what_matters():
    plan = PLANS["figure-3"]
    results = {"figure-3": dict.fromkeys(plan.settings(), ())}
    data = {"graph": "ER3", "noise": "gaussian", "n_nodes": 50}
    method = {"learner": "Golem", "constraint": "fast-tmpi"}
    assert Where("figure-3", data, method).find(results).label == "Likelihood + TMPI (detour)"
    assert Where("figure-3", data, {**method, "detour": 1}).find(results).label == "Likelihood + TMPI (no detour)"
    assert Where("figure-3", data, {**method, "inner": "adam"}).find(results) is None
    claim = Claim("x", Where("figure-3", {"graph": "ER9"}, method), (0, 1))
    assert claim.check(results).settings == ()
