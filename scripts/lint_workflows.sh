#!/bin/sh
# Linters of everything that GitHub or a container engine reads; offline. lint_workflows.sh FOLDER-OF-THE-PROGRAMS
set -eu
# actionlint calls shellcheck.
PATH="$(cd "$1" && pwd):$PATH"
export PATH

set -- docs/workflows/*.yml
if [ -d .github/workflows ]; then set -- "$@" .github/workflows/*.yml; fi
actionlint -no-color "$@"
check-jsonschema -q --builtin-schema vendor.github-workflows "$@"
check-jsonschema -q --builtin-schema vendor.github-actions action.yml run/action.yml
# What pages show names actions by version, as people write them: see zizmor.yml.
zizmor --offline --quiet --no-progress --config zizmor.yml --min-severity medium action.yml run/action.yml "$@"
if [ -f Dockerfile ]; then hadolint Dockerfile; fi
shellcheck run/run.sh scripts/*.sh
