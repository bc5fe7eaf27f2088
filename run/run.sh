#!/bin/sh
# Install this very version of repeat-eval, exactly as locked, into an environment of its own, and become it.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv="${RUNNER_TEMP:-${TMPDIR:-/tmp}}/repeat-eval-venv"

# The job's own Python runs the suite's functions where the suite names no other.
REPEAT_EVAL_RUNNER_PYTHON=$(command -v python3 || true)
export REPEAT_EVAL_RUNNER_PYTHON

echo "::group::repeat-eval: install"
status=0
# Installing needs no token, and nothing of the job's Python.
( unset INPUT_TOKEN GITHUB_TOKEN GH_TOKEN PYTHONPATH PYTHONHOME VIRTUAL_ENV
  cd "$here" && sh scripts/make_venv.sh "$venv" requirements-build.lock requirements.lock ) || status=$?
echo "::endgroup::"
if [ "$status" -ne 0 ]; then
  echo "::error title=repeat-eval::the program could not be installed; it needs Python 3.11 or newer as python3"
  exit 2
fi
exec "$venv/bin/python" -I -m repeat_eval.action
