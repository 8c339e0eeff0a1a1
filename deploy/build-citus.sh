#!/bin/sh
# Builds Citus from a source tree and installs it into Debian's PostgreSQL 15, for npm run test:citus.
#   deploy/build-citus.sh CITUS_SOURCES        (needs root; takes two minutes on two cores)
# Tested with the tag v13.2.2 of https://github.com/citusdata/citus, the last line with PostgreSQL 15.
set -eu

sources=${1:?usage: deploy/build-citus.sh CITUS_SOURCES}
apt-get install -y -qq postgresql-15 postgresql-server-dev-15 gcc make flex autoconf \
  libkrb5-dev liblz4-dev libzstd-dev libselinux1-dev libpam0g-dev libxslt1-dev libreadline-dev libssl-dev

cd "$sources"
# PostgreSQL 15.14 and later export this function themselves.
header=src/include/pg_version_compat.h
if grep -q 'have_createdb_privilege' /usr/include/postgresql/15/server/commands/dbcommands.h; then
  sed -i 's/\bhave_createdb_privilege(void)/citus_have_createdb_privilege(void)/' "$header"
fi
./configure PG_CONFIG=/usr/lib/postgresql/15/bin/pg_config --without-libcurl
make -s -j "$(nproc)"
make -s install
echo "Run: CITUS_POSTGRES=/usr/lib/postgresql/15/bin npm run test:citus"
