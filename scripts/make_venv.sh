#!/bin/sh
# Make a virtual environment from lock files on a machine that may have nothing but python3:
# make_venv.sh FOLDER LOCK...
set -eu
venv=$1
shift

say() { printf '%s\n' "$*" >&2; }

python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  for candidate in python3.13 python3.12 python3.11; do
    if command -v "$candidate" >/dev/null 2>&1; then python=$candidate; break; fi
  done
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  say "repeat-eval needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3"
  exit 1
}

if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
  rm -rf "$venv"
  if ! "$python" -m venv "$venv" >/dev/null 2>&1; then
    # Debian and Ubuntu ship Python without ensurepip; the package that brings it is python3-venv.
    rm -rf "$venv"
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
      say "installing python3-venv, which this Python needs to make virtual environments"
      apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
    else
      say "this Python cannot make virtual environments; install what it lacks: sudo apt-get install python3-venv"
      exit 1
    fi
    "$python" -m venv "$venv"
  fi
fi

for lock in "$@"; do
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
done
if [ "${PROJECT:-editable}" = editable ]; then
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
fi
