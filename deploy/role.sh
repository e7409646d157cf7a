#!/bin/sh
# Run once, when the database is made: the collector's role owns the schema `coterie`, and may do nothing else.
set -eu
psql -v ON_ERROR_STOP=1 --username postgres --dbname coterie -v password="$(cat /run/secrets/coterie-password)" <<'SQL'
REVOKE ALL ON DATABASE coterie FROM PUBLIC;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
CREATE ROLE coterie LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
GRANT CONNECT ON DATABASE coterie TO coterie;
CREATE SCHEMA coterie AUTHORIZATION coterie;
SQL
