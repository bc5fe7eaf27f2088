#!/bin/sh
# Linters of everything that GitHub or a container engine reads; offline. lint_workflows.sh FOLDER-OF-THE-PROGRAMS
set -eu
# actionlint calls shellcheck.
PATH="$(cd "$1" && pwd):$PATH"
export PATH

yamllint -s -c .yamllint.yml .yamllint.yml .github docs/workflows examples action.yml run/action.yml zizmor.yml
actionlint -no-color .github/workflows/*.yml docs/workflows/*.yml
check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml docs/workflows/*.yml
check-jsonschema -q --builtin-schema vendor.github-actions action.yml run/action.yml
check-jsonschema -q --builtin-schema vendor.dependabot .github/dependabot.yml
# Ours is pinned by commit. What pages show names actions by version, as people write them: see zizmor.yml.
zizmor --offline --quiet --no-progress --min-severity medium --no-config .github action.yml run/action.yml
zizmor --offline --quiet --no-progress --min-severity medium --config zizmor.yml docs/workflows/*.yml
hadolint Dockerfile
shellcheck .ci/run run/run.sh scripts/*.sh
