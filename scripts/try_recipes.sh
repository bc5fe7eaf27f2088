#!/bin/sh
# Run the recipes of docs/recipes.md with the real tools, as the page writes them: the gate must pass with a head that is
# like base, and fail with one that is worse. Needs package indexes for Python and, for promptfoo, npm.
#   try_recipes.sh [RECIPE...]      KEEP=DIR keeps tools and runs there, and uses the tools that are there already
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
work=${KEEP:-$(mktemp -d)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tools" "$work/runs"
recipes=${*:-"pytest pytest-repeat promptfoo inspect deepeval pydantic-evals any-command"}

# The recipe's commands, from the page.
command_of() {
  awk -v tag="<!-- recipe: $1 -->" '$0 == tag {f = 1; next} f && /^```/ {if (b) exit; b = 1; next} b' "$root/docs/recipes.md"
}

# tool NAME PACKAGE...: a virtual environment with these packages.
tool() {
  name=$1; shift
  [ -f "$work/tools/$name.ready" ] && return
  python3 -m venv "$work/tools/$name" && "$work/tools/$name/bin/pip" install -q --disable-pip-version-check "$@" &&
    touch "$work/tools/$name.ready"
}

promptfoo_tool() {
  [ -f "$work/tools/promptfoo.ready" ] && return
  mkdir -p "$work/tools/promptfoo" &&
    (cd "$work/tools/promptfoo" && npm install --silent --no-audit --no-fund --prefix . promptfoo@0.121.20) &&
    touch "$work/tools/promptfoo.ready"
}

# Which tools a recipe needs, where they are, and the folder of its suite.
prepare() {
  case $1 in
    pytest | pytest-repeat) tool pytest pytest==9.2.0 pytest-repeat==0.9.4; bin=pytest/bin suite=pytest ;;
    promptfoo) promptfoo_tool; bin=promptfoo/node_modules/.bin suite=promptfoo ;;
    inspect) tool inspect inspect-ai==0.3.285; bin=inspect/bin suite=inspect ;;
    deepeval) tool deepeval deepeval==4.3.1 pytest-repeat==0.9.4; bin=deepeval/bin suite=deepeval ;;
    pydantic-evals) tool pydantic pydantic-evals==2.62.0; bin=pydantic/bin suite=pydantic_evals ;;
    any-command) bin=. suite=any_command ;;
    *) echo "no recipe is called $1"; return 1 ;;
  esac
}

commit() {
  git -C "$1" add -A && git -C "$1" -c user.name=recipes -c user.email=recipes@localhost commit -q -m "$2"
}

# try RECIPE WHAT CODE: head is base, or worse; the exit code that the gate must give.
try() {
  repo="$work/runs/$1-$2"
  rm -rf "$repo" && mkdir -p "$repo" && cp -R "$root/examples/recipes/$suite/." "$repo" || return 1
  [ -f "$repo/provider.js" ] || cp "$root/examples/recipes/answers.py" "$repo"
  printf 'repeat-eval-report/\n__pycache__/\n.deepeval/\n.pytest_cache/\nlogs/\n' > "$repo/.gitignore"
  git -C "$repo" init -q -b main && commit "$repo" base && git -C "$repo" checkout -q -b change
  if [ "$2" = worse ]; then
    for file in answers.py provider.js; do
      [ -f "$repo/$file" ] && sed -i.old 's/QUALITY = 0.95/QUALITY = 0.5/' "$repo/$file" && rm "$repo/$file.old"
    done
  else
    echo "nothing that matters" > "$repo/NOTES"
  fi
  commit "$repo" head
  (
    cd "$repo" && export HOME="$work/home" PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1 REPEAT_EVAL_SEED=5
    export PROMPTFOO_DISABLE_TELEMETRY=1 PROMPTFOO_DISABLE_UPDATE=1 PROMPTFOO_CONFIG_DIR="$work/home/promptfoo"
    export DEEPEVAL_TELEMETRY_OPT_OUT=YES PATH="$work/tools/$bin:$root/.venv/bin:$PATH"
    mkdir -p "$HOME" && command_of "$1" | sh
  ) > "$repo/../$1-$2.txt" 2>&1
  code=$?
  line=$(sed -n 's/^ *\(PASSED\|FAILED\|INCOMPLETE\)/\1/p' "$work/runs/$1-$2.txt" | head -1)
  echo "$1, head is $2: exit code $code. $line"
  if [ "$code" != "$3" ]; then
    echo "  expected $3; its output:"
    sed 's/^/  | /' "$work/runs/$1-$2.txt"
    return 1
  fi
}

failed=0
for recipe in $recipes; do
  prepare "$recipe" || { failed=1; continue; }
  try "$recipe" alike 0 || failed=1
  try "$recipe" worse 1 || failed=1
done
exit $failed
