#!/bin/sh
# Make sure that the image's base is there: stand_in_base.sh NAME [SUITE]
# It is pulled from its registry. Where none answers, a stand-in is made of Debian's own Python, under the same name:
# good for tests on a machine without a registry, never for a release.
set -eu
name=$1
suite=${2:-trixie}

if podman image exists "$name"; then exit 0; fi
if timeout 60 podman pull -q "$name" >/dev/null 2>&1; then exit 0; fi

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null 2>&1; then
  printf '%s\n' "no registry has $name, and a stand-in needs root and debootstrap" >&2
  exit 3
fi
printf '%s\n' "no registry answers: making a stand-in for $name of Debian $suite" >&2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv,python3-pip "$suite" "$root" >&2
# The machine's own certificates: a proxy's among them is needed to reach the package index.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n' >"$root/etc/pip.conf"
rm -f "$root"/usr/lib/python3.*/EXTERNALLY-MANAGED
for program in python python3; do ln -sf /usr/bin/python3 "$root/usr/local/bin/$program"; done
ln -sf /usr/bin/pip3 "$root/usr/local/bin/pip"
rm -rf "$root"/var/cache/apt/archives/*.deb
tar -C "$root" -c . | podman import -q --change 'CMD ["python3"]' \
  --change 'ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin' \
  --change 'ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt' - "$name" >/dev/null
