#!/bin/sh
# The main job on the bundled example: a refund desk whose newest prompt broke two cases.
set -u
repeat_eval=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

echo "Running the refund desk of examples/refund_desk: 13 cases, 10 to 20 independent trials each,"
echo "and beside it, in the same seconds, its earlier revision."
echo
"$repeat_eval" run examples/refund_desk/suite.yaml --base-target python:agent_base:answer --seed 7 --out "$out"
code=$?
echo
case $code in
  1) echo "The gate failed (exit code 1), as it should: two cases broke, and luck does not explain it."
     echo "answers_yes_or_no fell from 10/10 to 8/10 and only looks worse: both revisions behave alike there."
     echo "The case marked NOISE is below its threshold, but ten trials cannot tell it from a good one: it passes." ;;
  *) echo "Expected the gate to fail with exit code 1; it ended with $code."
     exit 1 ;;
esac
echo "Try next: $repeat_eval init my-evals && $repeat_eval run my-evals/suite.yaml"
