#!/bin/sh
# Puts a copy of backup.sh in place of the data of a Redis that is stopped:
#
#   sh restore.sh COPY DATA
#
# DATA is the setting `dir` of Redis. The data that is there moves to DATA/before-TIME. With `appendonly yes`,
# Redis reads only its append-only file, so the copy becomes the base of a new one.
set -eu
umask 077
copy=$1
data=$2
redis-check-rdb "$copy"
new=$data/appendonlydir.new
rm -rf "$new"
mkdir "$new"
cp "$copy" "$new/appendonly.aof.1.base.rdb"
: > "$new/appendonly.aof.1.incr.aof"
printf 'file appendonly.aof.1.%s seq 1 type %s\n' base.rdb b incr.aof i > "$new/appendonly.aof.manifest"
sync "$new"/* "$new"
before=$data/before-$(date -u +%Y-%m-%dT%H-%M-%SZ)
mkdir "$before"
for name in appendonlydir dump.rdb; do
  [ ! -e "$data/$name" ] || mv "$data/$name" "$before"
done
mv "$new" "$data/appendonlydir"
sync "$data"
