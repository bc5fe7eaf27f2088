#!/bin/sh
# Make a Chromium usable for the browser tests. Installs Debian's where none is found, as root; exit 3 where it cannot be
# had. The tests look for the same programs in the same order.
set -eu

say() { printf '%s\n' "$*" >&2; }

if [ -n "${REPEAT_EVAL_CHROMIUM:-}" ]; then
  exit 0
fi
for program in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$program" >/dev/null 2>&1; then
    exit 0
  fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  say "the browser tests need Chromium or Chrome; installing it needs root and apt-get (Debian)"
  exit 3
fi
say "installing chromium"
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null 2>&1 || {
  apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
} || { say "chromium could not be installed"; exit 3; }
