#!/bin/sh
# Make podman usable for the container tests: install_podman.sh FOLDER
# Writes containers.conf and storage.conf into FOLDER; images are kept there too, away from the user's own.
# Installs the packages where podman is missing, on Debian and as root; exit 3 where podman cannot be had.
set -eu
folder=$1
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

say() { printf '%s\n' "$*" >&2; }

missing=
for program in podman runc debootstrap; do
  command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
if [ -n "$missing" ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    say "the container tests need$missing; installing needs root and apt-get (Debian or Ubuntu)"
    exit 3
  fi
  say "installing$missing"
  export DEBIAN_FRONTEND=noninteractive
  packages="podman buildah runc debootstrap netavark aardvark-dns iptables"
  # shellcheck disable=SC2086 # the words are packages
  apt-get install -y -qq --no-install-recommends $packages >/dev/null 2>&1 || {
    apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends $packages >/dev/null
  } || { say "podman could not be installed"; exit 3; }
fi

# Plain settings that work without systemd, in another container and without the right to raise limits.
cat >"$folder/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=2048:2048"]
netns = "host"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
cat >"$folder/storage.conf" <<CONF
[storage]
driver = "overlay"
graphroot = "$folder/graph"
runroot = "$folder/run"
CONF
