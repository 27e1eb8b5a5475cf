#!/usr/bin/env bash
# Tries pgbackrest.conf on one machine: acknowledged writes, a wrong DELETE among them, and the way back to the second before.
# Needs Debian's pgbackrest and postgresql-15, and a build of Waymark. Takes about half a minute.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=$(mktemp -d /tmp/waymark-pitr-XXXXXX)
chmod 755 "$folder"
export PATH="/usr/lib/postgresql/15/bin:$PATH"
port=26432 trace_port=26100 pids=()
as_postgres=()
((EUID)) || as_postgres=(setpriv --reuid=postgres --regid=postgres --clear-groups)

stop() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  "${as_postgres[@]}" pg_ctl stop -m immediate -D "$folder/data" >/dev/null 2>&1 || true
  if [[ -n ${KEEP:-} ]]; then echo "The logs are in $folder."; else rm -rf "$folder"; fi
}
trap stop EXIT

mkdir "$folder/repository" "$folder/log"
sed -e "s#^repo1-path=.*#repo1-path=$folder/repository\nlog-path=$folder/log\nlock-path=$folder/lock#" \
  -e "s#^pg1-path=.*#pg1-path=$folder/data\npg1-port=$port\npg1-socket-path=$folder#" "$here/pgbackrest.conf" >"$folder/pgbackrest.conf"
((EUID)) || chown -R postgres "$folder"
backrest() { "${as_postgres[@]}" pgbackrest --config="$folder/pgbackrest.conf" --stanza=waymark "$@"; }
start() { "${as_postgres[@]}" pg_ctl start -w -D "$folder/data" -l "$folder/postgres.log" >/dev/null; }
owner="postgres://postgres@127.0.0.1:$port"
sql() { psql -Atqc "$1" "$owner/waymark"; }
await() {
  for _ in {1..300}; do "$@" && return || sleep 0.2; done
  echo "Not within a minute: $*" >&2
  return 1
}
is_writable() { [[ $(sql "SELECT pg_is_in_recovery()") == f ]]; }

"${as_postgres[@]}" initdb -D "$folder/data" --locale=C -E UTF8 -A trust -U postgres >/dev/null
cat >>"$folder/data/postgresql.conf" <<END
port = $port
unix_socket_directories = '$folder'
archive_mode = on
archive_command = 'pgbackrest --config=$folder/pgbackrest.conf --stanza=waymark archive-push %p'
archive_timeout = 60
END
start
psql -qc "CREATE DATABASE waymark" "$owner/postgres"
backrest stanza-create
waymark() { DATABASE_URL="$owner/waymark" node "$root/packages/cli/bin/waymark.mjs" "$@"; }
waymark migrate >"$folder/migrate.log"
account=$(waymark account create --email pitr@example.com --plan pro --json | node -pe 'JSON.parse(fs.readFileSync(0)).id')
key=$(waymark key create --account "$account" --service trace --name try --json | node -pe 'JSON.parse(fs.readFileSync(0)).key')
sql "INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
  SELECT '$account', gen_random_uuid(), 'precious', 'old', 'running', now() FROM generate_series(1, 5000)"
backrest backup --type=full

DATABASE_URL="$owner/waymark" WAYMARK_DATA_DIR="$folder" TRACE_API_PORT=$trace_port TRACE_API_METRICS_PORT=$((trace_port + 1)) \
  node "$root/apps/trace-api/dist/main.js" >"$folder/trace-api.log" &
pids+=($!)
await curl -fso /dev/null "http://127.0.0.1:$((trace_port + 1))/ready"
node "$root/docker/failover/ledger.mjs" "http://127.0.0.1:$trace_port/api/v1" "$key" "$folder/stop" >"$folder/ledger.txt" &
ledger=$!
pids+=("$ledger")
sleep 5
# Every write that is in the database now was committed, and every acknowledged one is.
sql "SELECT id FROM trace ORDER BY 1" | sort >"$folder/before"
moment=$(sql "SELECT clock_timestamp()")
sleep 1
sql "DELETE FROM trace WHERE agent_id = 'precious'"
sleep 3
touch "$folder/stop"
wait "$ledger"
cat "$folder/ledger.txt"
kill "${pids[0]}"
after=$(sql "SELECT count(*) || ' traces, ' || count(*) FILTER (WHERE agent_id = 'precious') || ' precious' FROM trace")
echo "After the wrong DELETE: $after"

began=$(date +%s.%N)
"${as_postgres[@]}" pg_ctl stop -m fast -D "$folder/data" >/dev/null
backrest --delta --type=time "--target=$moment" --target-action=promote restore
start
await is_writable
echo "Back at $moment after $(echo "$(date +%s.%N) - $began" | bc) s: $(sql "SELECT count(*) || ' traces, ' || count(*) FILTER (WHERE agent_id = 'precious') || ' precious' FROM trace")"
missing=$(sql "SELECT id FROM trace" | sort | comm -23 "$folder/before" - | wc -l)
echo "Stored before the moment: $(wc -l <"$folder/before"), missing: $missing"
exit $((missing > 0))
