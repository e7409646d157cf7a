#!/bin/sh
# Make what compose.yaml reads from secrets/: passwords, the operator's token, the key of manifests, the settings.
# What is there already stays. The folder is its owner's alone; the files can be read in the container, whatever its user.
set -eu
umask 022
mkdir -p secrets
chmod 700 secrets
fresh() { [ -s "secrets/$1" ] || od -An -tx1 -N"$2" /dev/urandom | tr -d ' \n' > "secrets/$1"; }
fresh postgres-password 24
fresh coterie-password 24
fresh operator-token 32
fresh signing-key 32
[ -s secrets/collector.toml ] || cat > secrets/collector.toml <<SETTINGS
store = "postgresql://coterie:$(cat secrets/coterie-password)@database/coterie"
token_file = "/run/secrets/operator-token"
key_file = "/run/secrets/signing-key"
SETTINGS
