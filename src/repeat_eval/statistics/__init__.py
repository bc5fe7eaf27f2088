"""Statistics: numbers in, numbers out. Pure functions on counts and fractions; the standard library is all they need.

Words used throughout: a case has `passes` of `verdicts` (passed + failed trials; errors have no verdict), short `c` of
`n`; a row is one case on both sides, `(base passes, base verdicts, head passes, head verdicts)`. Rates are in [0, 1],
differences are head minus base. Modules are imported by name, so that a run pays only for what it uses.
"""
