#!/bin/sh
# Linters of everything that GitHub or a container engine reads; offline. lint_workflows.sh FOLDER-OF-THE-PROGRAMS
set -eu
bin=$1
PATH="$(cd "$bin" && pwd):$PATH" # actionlint calls shellcheck
export PATH

workflows=docs/workflows/*.yml
[ -d .github/workflows ] && workflows="$workflows .github/workflows/*.yml"
actions="action.yml run/action.yml"

# shellcheck disable=SC2086
set -- $workflows
actionlint -no-color "$@"
check-jsonschema -q --builtin-schema vendor.github-workflows "$@"
# shellcheck disable=SC2086
check-jsonschema -q --builtin-schema vendor.github-actions $actions
# The pages' workflows name actions by tag, as people write them; ours pin them, which zizmor.yml tells apart.
# shellcheck disable=SC2086
zizmor --offline --quiet --no-progress --config zizmor.yml --min-severity medium $actions "$@"
if [ -f Dockerfile ]; then hadolint Dockerfile; fi
shellcheck run/run.sh scripts/*.sh
