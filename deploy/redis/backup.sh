#!/bin/sh
# Copies all data of Redis to FOLDER/countersign-TIME.rdb, and keeps the newest KEEP copies. A copy gets this
# name only once it is complete, verified and on disk. After any failure it ends with a code other than 0, and
# has deleted no copy. docs/redis.md has the restore.
set -eu
umask 077
: "${HOST:?the address of Redis}" "${PORT:?}" "${PASSWORD_FILE:?of countersign-backup}" "${FOLDER:?}" "${KEEP:?}"

fail() {
  echo "backup.sh: $*" >&2
  exit 1
}

[ "$KEEP" -ge 1 ] || fail "KEEP is $KEEP. Set it to 1 or more"
REDISCLI_AUTH=$(cat "$PASSWORD_FILE")
export REDISCLI_AUTH
partial=$FOLDER/partial
rm -f "$partial"
redis-cli -h "$HOST" -p "$PORT" --user countersign-backup --rdb "$partial"
found=$(redis-check-rdb "$partial") || fail "the copy is damaged: $found"
# Otherwise the copies of an emptied Redis would replace those with data, one after another.
case $found in
  *' 0 keys read'*) fail "Redis has no data, so this is no backup. The earlier copies are in $FOLDER" ;;
esac
sync "$partial"
mv "$partial" "$FOLDER/countersign-$(date -u +%Y-%m-%dT%H-%M-%SZ).rdb"
sync "$FOLDER"
printf '%s\n' "$FOLDER"/countersign-*.rdb | sort -r | tail -n "+$((KEEP + 1))" | xargs -r rm
