#!/usr/bin/env bash
# Sees to Node 20 or newer, npm and Chromium: what is absent comes from Debian's packages.
set -euo pipefail

missing=()
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
command -v chromium >/dev/null || missing+=(chromium)

if ((${#missing[@]})); then
    command -v apt-get >/dev/null || { echo "please install: ${missing[*]}" >&2; exit 1; }
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then
    echo "the browser client needs Node 20 or newer, found $(node --version)" >&2
    exit 1
fi
