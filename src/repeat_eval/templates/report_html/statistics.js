/* The statistics of the page: the same numbers as the program's, from counts alone.
 *
 * Mirrors statistics/intervals.py, gates.py, repeats.py, suite_rates.py, planner.py and analysis/case_verdicts.py; the
 * tests hold them together on random counts. Thresholds stay the text that was written and are compared exactly.
 */
const RepeatEvalStatistics = (() => {
  "use strict";

  /** inv_cdf(0.975) of the normal distribution. */
  const Z_95 = 1.9599639845400536;
  /** inv_cdf(0.8): the planner's power. */
  const Z_80 = 0.8416212335729144;

  /** A rate as written, as an exact fraction [numerator, denominator] of BigInts. */
  function fraction(written) {
    const match = /^(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,2}))?$/.exec(written.trim());
    if (!match || (!match[1] && !match[2])) throw new RangeError(`${written} is no rate`);
    const digits = match[2] || "";
    const exponent = Number(match[3] || "0") - digits.length;
    const number = BigInt((match[1] || "0") + digits);
    return exponent < 0 ? [number, 10n ** BigInt(-exponent)] : [number * 10n ** BigInt(exponent), 1n];
  }

  /** A rate as written, as a number. */
  function decimal(written) {
    const [numerator, denominator] = fraction(written);
    return Number(numerator) / Number(denominator);
  }

  /** Rounded to 12 decimals, so that float dust decides nothing. */
  const rounded = (value) => Number(value.toFixed(12));

  /** Wilson 95 % interval [low, high] of c passes in n verdicts (Wilson 1927). */
  function wilson(passes, verdicts) {
    const square = Z_95 * Z_95;
    const divisor = 2 * (verdicts + square);
    const centre = (2 * passes + square) / divisor;
    const half = (Z_95 * Math.sqrt(square + (4 * passes * (verdicts - passes)) / verdicts)) / divisor;
    return [
      passes === 0 ? 0 : Math.max(0, centre - half),
      passes === verdicts ? 1 : Math.min(1, centre + half),
    ];
  }

  /** Wilson limits for a real rate and a real (effective) size. */
  function wilsonReal(rate, size) {
    const square = Z_95 * Z_95;
    const divisor = 2 * (size + square);
    const centre = (2 * rate * size + square) / divisor;
    const half = (Z_95 * Math.sqrt(square + 4 * size * rate * (1 - rate))) / divisor;
    return [Math.max(0, Math.min(rate, centre - half)), Math.min(1, Math.max(rate, centre + half))];
  }

  /** Whether c / n >= T, exactly. */
  function reaches(passes, verdicts, written) {
    const [numerator, denominator] = fraction(written);
    return BigInt(passes) * denominator >= numerator * BigInt(verdicts);
  }

  /** `pass`, `within-noise` or `fail` of c passes in n >= 1 verdicts at a threshold as written. */
  function gateVerdict(passes, verdicts, written, gate) {
    if (gate === "none" || reaches(passes, verdicts, written)) return "pass";
    if (gate === "strict") return "fail";
    return rounded(wilson(passes, verdicts)[1]) < rounded(decimal(written)) ? "fail" : "within-noise";
  }

  /** Fewest passes of n verdicts with which the gate does not fail. */
  function minPasses(verdicts, written, gate) {
    if (gate === "none") return 0;
    const [numerator, denominator] = fraction(written);
    const strict = Number((numerator * BigInt(verdicts) + denominator - 1n) / denominator);
    if (gate === "strict") return strict;
    let low = 0;
    let high = strict;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (gateVerdict(middle, verdicts, written, gate) === "fail") low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Verdict of a case from its counts {passed, failed, errors, skipped, missing}: trials without a verdict count once
   * as all passed and once as all failed. */
  function caseVerdict(counts, written, gate) {
    const verdicts = counts.passed + counts.failed;
    const unknown = counts.errors + counts.missing + counts.skipped;
    if (counts.skipped && !(verdicts || counts.errors || counts.missing)) return "skipped";
    if (verdicts === 0) return "incomplete";
    const asked = verdicts + unknown;
    if (2 * verdicts < asked) return "incomplete";
    if (unknown && gate !== "none") {
      const worst = gateVerdict(counts.passed, asked, written, gate) !== "fail";
      const best = gateVerdict(counts.passed + unknown, asked, written, gate) !== "fail";
      if (worst !== best) return "incomplete";
    }
    return gateVerdict(counts.passed, verdicts, written, gate);
  }

  /** n choose k over m choose k as a product: no factorials. */
  function ratioOfChoices(part, whole, k) {
    let product = 1;
    for (let i = 0; i < k; i += 1) product *= (part - i) / (whole - i);
    return product;
  }

  /** Unbiased "k drawn trials all pass"; null for k above n. */
  function passHatK(passes, verdicts, k) {
    if (k > verdicts) return null;
    return k > passes ? 0 : ratioOfChoices(passes, verdicts, k);
  }

  /** Mean of the cases' rates with the re-run 95 % interval: {rate, low, high}; cases are [passes, verdicts]. */
  function rerunInterval(cases) {
    const weight = 1 / cases.length;
    const rate = cases.reduce((sum, [c, n]) => sum + c / n, 0) / cases.length;
    const pooled = rate * (1 - rate);
    let sizes = 0;
    let variance = 0;
    for (const [c, n] of cases) {
      const square = weight * weight;
      sizes += square / n;
      variance += square * (n === 1 ? pooled : (c * (n - c)) / (n * n * (n - 1)));
    }
    const size = 1 / sizes;
    const phi = Math.min(1, (variance * size * size + 1) / (pooled * size + 1));
    const [low, high] = wilsonReal(rate, size / phi);
    return { rate, low, high };
  }

  /** Mean over cases of the unbiased variance of one trial within its case; null if no case has two verdicts. */
  function withinCaseVariance(cases) {
    const known = cases.filter(([, n]) => n >= 2);
    if (!known.length) return null;
    return known.reduce((sum, [c, n]) => sum + (c * (n - c)) / (n * (n - 1)), 0) / known.length;
  }

  /** Smallest fall of the suite's rate found with 80 % power at N repeats a side; null when unknown or above 1.
   * `z` is the normal quantile of 1 - alpha / 2. */
  function detectableDifference(cases, repeats, z = Z_95) {
    const variance = withinCaseVariance(cases);
    if (variance === null) return null;
    const q = (z + Z_80) ** 2;
    const b = q / (cases.length * repeats);
    const a = (q * variance * (2 / repeats)) / cases.length;
    const found = (b + Math.sqrt(b * b + 4 * a)) / 2;
    return found <= 1 ? found : null;
  }

  /** Interval that a case of this rate would have at another N: Wilson at the nearest whole number of passes. */
  function intervalAt(passes, verdicts, repeats) {
    return wilson(Math.round((passes * repeats) / verdicts), repeats);
  }

  /** Re-run interval that the suite would have at another N, from the rates and variances seen: {low, high}. */
  function rerunIntervalAt(cases, repeats) {
    const rate = cases.reduce((sum, [c, n]) => sum + c / n, 0) / cases.length;
    const pooled = rate * (1 - rate);
    const size = cases.length * repeats;
    const spread = cases.reduce((sum, [c, n]) => sum + (n === 1 ? pooled : (c * (n - c)) / (n * (n - 1))), 0);
    const variance = spread / (cases.length * cases.length * repeats);
    const phi = Math.min(1, (variance * size * size + 1) / (pooled * size + 1));
    const [low, high] = wilsonReal(rate, size / phi);
    return { low, high };
  }

  return {
    fraction, decimal, wilson, reaches, gateVerdict, minPasses, caseVerdict, passHatK, rerunInterval,
    withinCaseVariance, detectableDifference, intervalAt, rerunIntervalAt,
  };
})();
if (typeof module !== "undefined") module.exports = RepeatEvalStatistics;
