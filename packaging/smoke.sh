#!/bin/sh
# Installs Tonnage in a new environment without a network, and uses it as somebody does on the first day.
#   smoke.sh PYTHON WHEELHOUSE     a directory with Tonnage's wheel and those of what it needs (docs/install.md)
set -eu
python=$1 wheels=$2
work=$(mktemp -d)
cd "$work"
"$python" -m venv venv
venv/bin/python -m pip install --disable-pip-version-check --quiet --no-index --find-links "$wheels" 'tonnage[report]'
PATH=$work/venv/bin:$PATH
tonnage --version
tonnage explain cache-read >page
grep -q '^## Threshold' page
tonnage example first-light --out first-light.toml
mkdir data
tonnage probe data --budget 10s --space 64MiB --out probed
tonnage verify probed
tonnage report probed
test -s probed/report.html
test -s venv/share/man/man1/tonnage.1
tonnage compat install old
old/mdtest --help >help
test -s help
echo "smoke: all well in $work"
