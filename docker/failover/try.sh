#!/usr/bin/env bash
# Tries patroni.yml and haproxy.cfg on one machine: two Postgres, etcd, HAProxy, the trace API and the worker, in a temporary
# folder. Ends the primary under load and compares a ledger of acknowledged writes with what the new primary has.
# Needs Debian's patroni, etcd-server, haproxy and postgresql-15, and a build of Waymark. Takes about a minute.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=$(mktemp -d /tmp/waymark-failover-XXXXXX)
chmod 755 "$folder"
export PATH="/usr/lib/postgresql/15/bin:/usr/sbin:$PATH"
password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
declare -A api=([one]=25008 [two]=25009) port=([one]=25432 [two]=25433) patroni
etcd_port=25379 proxy_port=25000 trace_port=25100 pids=()
as_postgres=()
((EUID)) || as_postgres=(setpriv --reuid=postgres --regid=postgres --clear-groups)

stop() {
  for pid in "${pids[@]}" "${patroni[@]}"; do kill "$pid" 2>/dev/null || true; done
  sleep 2
  for name in one two; do
    "${as_postgres[@]}" pg_ctl stop -m immediate -D "$folder/$name" >/dev/null 2>&1 || true
  done
  for pid in "${pids[@]}" "${patroni[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  if [[ -n ${KEEP:-} ]]; then echo "The logs are in $folder."; else rm -rf "$folder"; fi
}
trap stop EXIT

wait_for() { # SECONDS WHAT COMMAND...
  local until=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < until)) || { echo "There is no $what. The logs: $folder" >&2; KEEP=1; exit 1; }
    sleep 0.2
  done
}

start_patroni() { # NAME
  sed -e "s/^name: one/name: $1/" \
    -e "s/10.0.0.1:8008/127.0.0.1:${api[$1]}/" -e "s/10.0.0.1:5432/127.0.0.1:${port[$1]}/" \
    -e "s/^  hosts: .*/  hosts: [127.0.0.1:$etcd_port]/" -e "s/password: CHANGE/password: $password/" \
    -e "s#data_dir: .*#data_dir: $folder/$1#" \
    -e "s#^    - local all all peer#    - local all all scram-sha-256#" "$here/patroni.yml" >"$folder/$1.yml"
  # Both are one user's on this machine: no common files.
  sed -i "s#^  bin_dir: #  pgpass: $folder/$1.pgpass\n  parameters: { unix_socket_directories: $folder/sockets }\n&#" "$folder/$1.yml"
  "${as_postgres[@]}" patroni "$folder/$1.yml" >>"$folder/$1.log" 2>&1 &
  patroni[$1]=$!
}

is_primary() { curl -fso /dev/null "http://127.0.0.1:${api[$1]}/primary"; }
is_synchronous() { curl -fso /dev/null "http://127.0.0.1:${api[$1]}/synchronous"; }
is_ready() { curl -fso /dev/null "http://127.0.0.1:$1/ready"; }

etcd --data-dir "$folder/etcd" --listen-client-urls "http://127.0.0.1:$etcd_port" \
  --advertise-client-urls "http://127.0.0.1:$etcd_port" --listen-peer-urls "http://127.0.0.1:$((etcd_port + 1))" \
  >"$folder/etcd.log" 2>&1 &
pids+=($!)
mkdir "$folder/sockets"
((EUID)) || chown postgres "$folder" "$folder/sockets"
start_patroni one
wait_for 60 "primary" is_primary one
start_patroni two
wait_for 60 "synchronous standby" is_synchronous two

sed -e "/^listen redis/,\$d" -e "s/127.0.0.1:5000/127.0.0.1:$proxy_port/" -e "/server three/d" \
  -e "s/10.0.0.1:5432 port 8008/127.0.0.1:${port[one]} port ${api[one]}/" \
  -e "s/10.0.0.2:5432 port 8008/127.0.0.1:${port[two]} port ${api[two]}/" "$here/haproxy.cfg" >"$folder/haproxy.cfg"
haproxy -db -f "$folder/haproxy.cfg" >"$folder/haproxy.log" 2>&1 &
pids+=($!)
owner="postgres://postgres:$password@127.0.0.1:$proxy_port"
# Until its first checks are over, HAProxy takes both for primaries.
wait_for 20 "way to the primary" psql -qc "CREATE DATABASE waymark" "$owner/postgres"

waymark() { DATABASE_URL="$owner/waymark" node "$root/packages/cli/bin/waymark.mjs" "$@"; }
export TRACE_API_DB_PASSWORD=$password ANALYTICS_API_DB_PASSWORD=$password COLLECTOR_DB_PASSWORD=$password \
  WORKER_DB_PASSWORD=$password DASHBOARD_DB_PASSWORD=$password
waymark migrate >"$folder/migrate.log"
account=$(waymark account create --email failover@example.com --plan pro --json | node -pe 'JSON.parse(fs.readFileSync(0)).id')
key=$(waymark key create --account "$account" --service trace --name try --json | node -pe 'JSON.parse(fs.readFileSync(0)).key')

export REQUIRE_SYNCHRONOUS_STANDBY=1 WAYMARK_DATA_DIR="$folder"
url="127.0.0.1:$proxy_port/waymark"
DATABASE_URL="postgres://waymark_trace_api:$password@$url" TRACE_API_PORT=$trace_port TRACE_API_METRICS_PORT=$((trace_port + 1)) \
  node "$root/apps/trace-api/dist/main.js" >"$folder/trace-api.log" &
pids+=($!)
DATABASE_URL="postgres://waymark_worker:$password@$url" WORKER_METRICS_PORT=$((trace_port + 2)) \
  node "$root/apps/worker/dist/main.js" >"$folder/worker.log" &
pids+=($!)
wait_for 20 "ready trace API" is_ready $((trace_port + 1))
wait_for 20 "ready worker" is_ready $((trace_port + 2))
echo "Two Postgres, the services ready. Writes begin."

node "$here/ledger.mjs" "http://127.0.0.1:$trace_port/api/v1" "$key" "$folder/stop" >"$folder/ledger.txt" &
ledger=$!
pids+=("$ledger")
sleep 10
postmaster=$(head -1 "$folder/one/postmaster.pid")
# At once, as when the machine loses its power: Patroni, the server and its sessions.
kill -9 "${patroni[one]}" "$postmaster" $(ps -o pid= --ppid "$postmaster")
began=$SECONDS
wait_for 60 "new primary" is_primary two
echo "The primary was ended. The standby is primary after $((SECONDS - began)) s."
sleep 10
curl -s "http://127.0.0.1:$((trace_port + 1))/ready"
echo
start_patroni one
wait_for 60 "standby again" is_synchronous one
wait_for 20 "ready trace API" is_ready $((trace_port + 1))
wait_for 20 "ready worker" is_ready $((trace_port + 2))
echo "The former primary is the synchronous standby, the services are ready."
touch "$folder/stop"
wait "$ledger" || { cat "$folder/ledger.txt"; exit 1; }
cat "$folder/ledger.txt"
wait_for 30 "mail of a failure after the failover" compgen -G "$folder/mails/*"
echo "Mails: $(find "$folder/mails" -type f | wc -l)"
