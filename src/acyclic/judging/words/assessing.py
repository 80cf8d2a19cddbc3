"""The verdict in three short paragraphs, for somebody who has never learned a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acyclic.errors import show_name
from acyclic.facts import Fact, Grade, Ground, Step
from acyclic.judging.words.filling import FORMATTER, Values

if TYPE_CHECKING:
    from acyclic.judging.assessment import Assessment

__all__ = ["GRADES", "GROUNDS", "STEPS", "say_belief", "say_found", "say_ground", "say_next", "say_step"]

GRADES = {
    Grade.STRONG: "What is claimed here is well supported by the table.",
    Grade.FAIR: "Most of what is claimed here is supported by the table; take single links with care.",
    Grade.WEAK: "Take this as a sketch: much of it may look otherwise with other rows or another model.",
    Grade.POOR: "This should not be believed as it is.",
    Grade.NOTHING: "There is nothing to believe or to doubt.",
}

GROUNDS = {
    Ground.LINKS_REDRAWN: "{firm} of {of} links came back in at least {least:.0%} of {draws} draws of the rows",
    Ground.DIRECTIONS_REDRAWN: (
        "of {of} directions that the data decide, {firm} were the same in at least {least:.0%} of the draws that have "
        "the link"
    ),
    Ground.LINKS_LIKELY: "by {draws} draws of the rows about {expected:.3g} of {of} links are likely to be there",
    Ground.DIRECTIONS_LIKELY: "about {expected:.3g} of {of} directions that the data decide are likely to be right",
    Ground.LINKS_AHEAD: "{firm} of {of} links are ahead of being left out by more than a near-tie",
    Ground.NOT_REDRAWN: "it was not tried on draws of the rows",
    Ground.FEW_DRAWS: "it was tried on {draws} draws of the rows only, too few to tell",
    Ground.AUDIT_PASSED: "the audit found nothing against it",
    Ground.MODEL_DOUBTED: (
        "what {0} leaves of {1} is not what the learned mechanisms, without hidden causes, would leave "
        "(such links: {count})"
    ),
    Ground.UNITS_DOUBTED: "{count} directions rest on the units of the columns, which cannot carry them here",
    Ground.UNITS_MATTER: "{count} of {of} links look otherwise in other units",
    Ground.IMPLICATIONS_HOLD: (
        "none of {claims} independencies that the graph implies is contradicted by the table (p = {p:.2g})"
    ),
    Ground.IMPLICATIONS_BROKEN: (
        "{broken} {claims} independencies that the graph implies are contradicted by the table (p = {p:.1g})"
    ),
    Ground.ENDED_EARLY: "the search did not come to its end",
    Ground.FEW_ROWS: "there are only {rows:g} rows for {columns} columns",
    Ground.NOT_COMPARED: "with {columns} columns no other graph was compared with this one",
    Ground.LONE_CHAIN: "no second one of {chains} independent searches ended here",
    Ground.KNOWLEDGE: "prior knowledge fixes the direction of {fixed} of {of} links{costs}",
    Ground.KNOWLEDGE_AGAINST_DATA: (
        "prior knowledge fixes the direction of {fixed} of {of} links{costs}: the table speaks against it by so much"
    ),
}

STEPS = {
    Step.ORIENT: "{told}",
    Step.ORIENT_EACH: "state the directions you know of the {count} that are open, such as that of {0} – {1}",
    Step.MORE_DRAWS: "try it on 50 draws of the rows or more (acyclic.bootstrap, or --bootstrap 50) before you use it",
    Step.REDRAW: "try it on draws of the rows (acyclic.bootstrap, or acyclic learn without --quick) before you use it",
    Step.MORE_TIME: "give the search more time",
    Step.MORE_ROWS: "gather more rows, or leave out columns that do not matter to the question",
    Step.OTHER_MODEL: "look at {0} → {1} in the rows, and try a method for curved mechanisms such as cam",
    Step.LOOK_AT_ROWS: (
        "look at {0} → {1} in the rows: its spread may change, other columns change what it does, or something that is "
        "not in the table acts on both"
    ),
    Step.HIDDEN_CAUSE: "look for something that acts on both {0} and {1} and is not in the table",
    Step.CHECK_KNOWLEDGE: "check the statements of the prior knowledge one by one",
    Step.CHECK_LINK: "treat {0} – {1} as a guess: {why}",
    Step.CHECK_DIRECTION: "state which way {0} – {1} points if you know it: {few} of the draws agree",
    Step.ASK: "nothing is left to decide: ask what drives a column (result.explain, --target, or “Ask” in the page)",
}


def say_ground(ground: Fact[Ground]) -> str:
    """One ground, without capital and full stop."""
    price = ground.get("price")
    costs = "" if price is None else ", at no cost in score" if price < 5e-4 else f" and costs {price:.3g} in score"
    more = {"costs": costs}
    if ground.kind is Ground.IMPLICATIONS_BROKEN:
        more["broken"] = f"{ground['broken']} of" if ground["broken"] else "taken together, the"
    return _fill(GROUNDS[ground.kind], ground, **more)


def say_step(step: Fact[Step]) -> str:
    """One step, without capital and full stop."""
    told = _say_orienting(step) if step.kind is Step.ORIENT else ""
    share, margin = step.get("share"), step.get("margin")
    few = f"only {share:.0%}" if share else "none"
    why = f"{few} of the draws have it" if share is not None else ""
    why = why or (f"without it the score is only {margin:.2g} higher" if margin is not None else "it is not firm")
    return _fill(STEPS[step.kind], step, told=told, why=why, few=few)


def _say_orienting(step: Fact[Step]) -> str:
    source, target = map(show_name, step.about)
    forward, backward = step["forward"], step["backward"]
    if forward == backward:
        return f"telling it which way {source} – {target} points decides {_more(forward)}"
    ways = [(source, target, forward), (target, source, backward)]
    (one, of, most), (other, by, least) = sorted(ways, key=lambda way: -way[2])
    rest = f"{least} if it is {other} that is no effect of {by}" if least else "none if it is the other way round"
    return f"telling it that {one} is no effect of {of} decides {_more(most)} ({rest})"


def _more(count: int) -> str:
    return f"{count} more direction{'' if count == 1 else 's'}"


def say_found(assessment: Assessment, columns: int, why_empty: str = "") -> str:
    """The first paragraph."""
    rows = "" if assessment.rows is None else f" and {assessment.rows:g} rows"
    said = f"What was found: in a table of {_count(columns, 'column')}{rows}, "
    if not assessment.links:
        return f"{said}no link between any two columns{f', because {why_empty}' if why_empty else ''}."
    decided, loose = assessment.decided, assessment.open
    some = f"The direction of {decided or 'none'} of them is decided, that of {loose} is open"
    all_of = "All have a direction that is decided" if decided else "All their directions are open"
    if assessment.links == 1:
        all_of = f"Its direction is {'decided' if decided else 'open'}"
    said += f"{_count(assessment.links, 'link')}. {some if decided and loose else all_of}"
    shown = [f"{show_name(a)} {'→' if sure else '–'} {show_name(b)}" for a, b, sure in assessment.strongest]
    said += f"; the strongest {'is' if len(shown) == 1 else 'are'} {', '.join(shown)}."
    if apart := assessment.apart:
        named = ", ".join(map(show_name, apart[:4])) + (f" and {len(apart) - 4} more" if len(apart) > 4 else "")
        said += f" Without any link: {named}."
    return said


def say_belief(assessment: Assessment) -> str:
    """The second paragraph; none where there is no link."""
    if assessment.grade is Grade.NOTHING:
        return ""
    said = "; ".join(map(say_ground, assessment.grounds))
    grade = f"How far it can be believed: {assessment.grade.value}. {GRADES[assessment.grade]}"
    return f"{grade} {said[:1].upper()}{said[1:]}." if said else grade


def say_next(assessment: Assessment) -> str:
    """The third paragraph; none where there is nothing to do."""
    return f"What to do next: {'; '.join(map(say_step, assessment.steps))}." if assessment.steps else ""


def _fill(template: str, fact: Fact[Any], **more: str) -> str:
    return FORMATTER.vformat(template, [*map(show_name, fact.about)], Values({**dict(fact.values), **more}))


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
