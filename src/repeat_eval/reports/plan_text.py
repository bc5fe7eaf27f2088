"""A plan in a terminal: what the gate decides, what the comparison sees, and what more repeats would buy."""

from __future__ import annotations

from rich.console import Console

from repeat_eval.analysis.planning import ComparisonPlan, ComparisonRow, GatePlan, Plan
from repeat_eval.analysis.planning_looks import AlonePlan, LooksPlan
from repeat_eval.reports import format as fmt
from repeat_eval.reports.escape import terminal
from repeat_eval.reports.text_table import Paper, table


def render_plan(plan: Plan, console: Console) -> None:
    """Print a plan."""
    paper = Paper(console)
    if plan.suite is not None:
        cases = "" if plan.comparison is None else f", {fmt.count(plan.comparison.cases, 'case')}"
        paper.paragraph(f"{terminal(plan.suite, 80)}{cases}, from {terminal(plan.source or '', 200)}", style="bold")
    _gate(plan.gate, paper)
    if plan.comparison is not None:
        _comparison(plan.comparison, paper)
        if plan.looks is not None:
            _looks(plan.looks, paper)
        if plan.alone is not None:
            _alone(plan.alone, paper)
    else:
        paper.heading("Comparison of base and head")
        paper.paragraph("Give --cases, or a run file, to see what a comparison could find.", indent="  ")
    if plan.suite is not None:
        _varying(plan, paper)
    if plan.warnings:
        console.print()
    for warning in plan.warnings:
        paper.paragraph(terminal(warning), indent="! ", style="yellow")


def _gate(plan: GatePlan, paper: Paper) -> None:
    threshold = terminal(plan.threshold)
    paper.heading(f"A gate on every case: {plan.gate}, threshold {threshold}")
    if plan.gate == "none":
        paper.paragraph("The gate is none: no case can fail, whatever its trials say.", indent="  ")
        return
    bad, power = fmt.percent(plan.bad_rate), f"{100 * plan.power:g} of 100 runs"
    if plan.first is None:
        answer = "no number of repeats up to 1,000"
    else:
        answer = fmt.count(plan.first, "repeat")
        if plan.always is None:
            answer += " (but not with every larger number up to 1,000)"
        elif plan.always > plan.first:
            answer += f" (with every number from {plan.always:,} on)"
    paper.paragraph(f"Catch a case that passes {bad} of the time, in {power}: {answer}.", indent="  ")
    if plan.decisive is not None:
        paper.paragraph(f"Fail a case that never passes: {fmt.count(plan.decisive, 'repeat')}.", indent="  ")
    proof = "no number of repeats does" if plan.proving is None else fmt.count(plan.proving, "repeat")
    paper.paragraph(f"Prove a pass rate of {threshold}, if every trial passes: {proof}.", indent="  ")
    paper.paragraph("")
    head = ["N", "needs", f"bad {bad} fails"]
    for rate in plan.good_rates:
        head.append(f"good {fmt.percent(rate)} fails")
        head += [f"any of {plan.cases:,}"] if plan.cases > 1 else []
    rows = []
    for row in plan.rows:
        cells = [
            f"{row.repeats:,}",
            "cannot fail" if row.needs == 0 else f"{row.needs:,}",
            _chance(row.bad_fails, plan.bad_rate),
        ]
        for one, several in zip(row.good_fails, row.any_good_fails, strict=True):
            cells.append(fmt.percent1(one))
            cells += [fmt.percent1(several)] if plan.cases > 1 else []
        rows.append(cells)
    paper.table(table(head, rows, left=0))


def _comparison(plan: ComparisonPlan, paper: Paper) -> None:
    here = plan.here
    sides = f"{plan.repeats:,} repeats a side" if not plan.base_is_fixed else _against(plan)
    source = {"given": "as given", "run file": "measured", "assumed": "assumed"}[plan.spread_source]
    paper.heading(f"A comparison of {fmt.count(plan.cases, 'case')}: {sides}, spread {plan.spread:.3f} ({source})")
    power = f"{100 * plan.power:g} of 100 comparisons"
    if here.detectable is None:
        paper.paragraph("The suite's pass rate: no change can be found reliably.", indent="  ")
    else:
        points = _points(here.detectable)
        paper.paragraph(f"The suite's pass rate: a change of {points} points is found in {power}.", indent="  ")
    if plan.detect is not None:
        paper.paragraph(_wanted(plan), indent="  ")
    paper.paragraph(_single(here), indent="  ")
    paper.paragraph("")
    bad = fmt.percent(plan.bad_rate)
    head = ["N", "suite: points", "one case alone", f"falls to {bad}: found"]
    head += ["beside the others", "found"] if here.testable is not None else []
    head += ["trials"] + (["cost"] if plan.cost_per_trial is not None else [])
    rows = []
    for row in plan.rows:
        cells = [
            f"{row.repeats:,}",
            _points(row.detectable),
            _drop(row, row.single_drop),
            _chance(row.bad_found, plan.bad_rate),
        ]
        if here.testable is not None:
            cells += [_drop(row, row.single_drop_here), _chance(row.bad_found_here or 0.0, plan.bad_rate)]
        cells += [f"{row.trials:,}"] + ([fmt.money(row.cost)] if plan.cost_per_trial is not None else [])
        rows.append(cells)
    paper.table(table(head, rows, left=0))


def _alone(plan: AlonePlan, paper: Paper) -> None:
    def told(trials: float, cost: float | None) -> str:
        return f"{trials:,.0f} trials" + (f" ({fmt.money(cost)})" if cost is not None else "")

    paper.heading(f"Without a base: second look {terminal(plan.looks, 60)}")
    good, bad = fmt.percent(plan.good_rate), fmt.percent(plan.bad_rate)
    paper.paragraph(
        f"{told(plan.trials, plan.cost_first)} first, then {plan.fresh:,} fresh ones of each case below its threshold: "
        f"about {told(plan.good, plan.cost_good)} when every case passes {good} of the time, at most "
        f"{told(plan.most, plan.cost_most)}. A case that passes {bad} of the time fails in "
        f"{fmt.percent1(plan.bad_fails)} of runs, one that passes {good} in {fmt.percent1(plan.good_fails)}.",
        indent="  ",
    )


def _looks(plan: LooksPlan, paper: Paper) -> None:
    base = "in front of base's stored trials" if plan.mode == "screen" else "beside base, where no repeats are set"
    paper.heading(f"Two looks instead ({base})")
    paper.paragraph(
        f"A short look at every case, then fresh trials a side of at most {fmt.count(plan.cap, 'suspect')}, and of all "
        f"cases after an alarm. As good: the fixed N that finds such a case as often, {_beside(plan.testable - 1)}.",
        indent="  ",
    )
    paper.paragraph("")
    money = any(row.cost_first is not None for row in plan.rows)
    bad = fmt.percent(plan.bad_rate)
    head = ["looks", "trials", "suspects: up to", "alarm: up to", f"falls to {bad}: found", "as good: N", "trials"]
    head += ["cost", "alarm: up to"] if money else []
    rows = []
    for row in plan.rows:
        cells = [
            terminal(row.looks, 60) + (" *" if row.usual else ""),
            f"{row.first:,}",
            f"{row.suspects:,}",
            f"{row.most:,}",
            _chance(row.found, plan.bad_rate),
            "over 200" if row.fixed_repeats is None else f"{row.fixed_repeats:,}",
            fmt.UNKNOWN if row.fixed_trials is None else f"{row.fixed_trials:,}",
        ]
        rows.append(cells + ([fmt.money(row.cost_first), fmt.money(row.cost_most)] if money else []))
    paper.table(table(head, rows, left=1))


def _beside(others: int) -> str:
    if not others:
        return "if no other case varies"
    return f"beside {fmt.count(others, 'other case')} that {'varies' if others == 1 else 'vary'}"


def _against(plan: ComparisonPlan) -> str:
    return f"{plan.repeats:,} repeats on head against {plan.base_repeats:,} on base"


def _wanted(plan: ComparisonPlan) -> str:
    points = _points(plan.detect)
    if plan.needed is None:
        why = f", because base has only {plan.base_repeats:,} trials a case" if plan.base_is_fixed else ""
        return f"To find {points} points: more than 10,000 repeats{why}. More cases help as much as more repeats."
    needed = plan.needed
    cost = "" if needed.cost is None else f", {fmt.money(needed.cost)}"
    where = "on head" if plan.base_is_fixed else "a side"
    repeats = fmt.count(needed.repeats, "repeat")
    return f"To find {points} points: {repeats} {where} ({fmt.count(needed.trials, 'trial')}{cost})."


def _single(row: ComparisonRow) -> str:
    before = f"{row.base_repeats:,}/{row.base_repeats:,}"
    if row.single_drop is None:
        return f"One case alone: no fall from {before} can be told from luck, not even to 0/{row.repeats:,}."
    text = f"One case alone: a fall from {before} to {row.single_drop:,}/{row.repeats:,} is found"
    if not row.testable:
        return f"{text}, if no other case varies." if row.testable is None else f"{text}."
    others = fmt.count(row.testable, "other case") + (" varies" if row.testable == 1 else " vary")
    if row.single_drop_here is None:
        return f"{text}; here {others}, and not even a fall to 0/{row.repeats:,} is."
    return f"{text}; here {others} and must be allowed for, so it takes a fall to {row.single_drop_here:,}."


def _chance(probability: float, rate: float) -> str:
    """A chance at a true rate; what is only so near to 1 that a float cannot tell is not certain."""
    return fmt.percent1(min(probability, 1 - 1e-12) if 0 < rate < 1 else probability)


def _drop(row: ComparisonRow, passes: int | None) -> str:
    return "none" if passes is None else f"{passes:,}/{row.repeats:,}"


def _points(rate: float | None) -> str:
    return fmt.UNKNOWN if rate is None else f"{100 * rate:.1f}"


def _varying(plan: Plan, paper: Paper) -> None:
    paper.heading("Where the variance is")
    if not plan.varying:
        paper.paragraph("No case varied in this run.", indent="  ")
        return
    rows = [
        (terminal(case.id, 60), f"{case.passed:,}/{case.verdicts:,}", fmt.percent(case.share)) for case in plan.varying
    ]
    paper.table(table(("case", "passed", "share"), rows))
    if plan.varied > len(plan.varying):
        paper.paragraph(f"and {fmt.count(plan.varied - len(plan.varying), 'more case')}", indent="  ")
