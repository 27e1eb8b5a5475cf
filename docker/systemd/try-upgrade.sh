#!/usr/bin/env bash
# Tries upgrade.sh, the units and nginx.conf on one machine: two instances of each app behind nginx, in a temporary folder,
# under load. Upgrades to a release with one migration more, goes back, ends an instance by kill -9, and upgrades to a release
# whose trace API never becomes ready, which goes back by itself. In place of systemd a program below reads the units and runs
# them. Needs nginx, and this repository built. Takes five minutes, and never more than twenty.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

if [[ ${1:-} != --beside-servers ]]; then
  exec timeout --kill-after=30 1200 node --conditions=source "$root/packages/local/bin/with-test-servers.mjs" "$0" --beside-servers
fi

folder=$(mktemp -d /tmp/waymark-upgrade-XXXXXX)
opt=$folder/opt/waymark etc=$folder/etc port=28080
export FOLDER=$folder WAYMARK_ETC=$etc TURBO_CACHE_DIR=$root/.turbo/try-upgrade
mkdir -p "$folder"/{bin,run,log,opt,var,nginx} "$etc"/{waymark,systemd/system}

stop() {
  touch "$folder/stop"
  for file in "$folder"/run/*.wanted; do rm -f "$file"; done
  for file in "$folder"/run/*.pid; do [[ ! -e $file ]] || kill "$(cat "$file")" 2>/dev/null || true; done
  kill "${nginx:-}" 2>/dev/null || true
  sleep 3
  for file in "$folder"/run/*.pid; do [[ ! -e $file ]] || kill -9 "$(cat "$file")" 2>/dev/null || true; done
  if [[ -n ${KEEP:-} ]]; then echo "The logs are in $folder."; else rm -rf "$folder"; fi
}
trap stop EXIT
trap 'exit 1' INT TERM
end() { echo "$*" >&2; KEEP=1; exit 1; }

# In place of systemctl: what upgrade.sh asks of it, by the units' own lines.
cat >"$folder/bin/systemctl" <<'END'
#!/usr/bin/env bash
set -eu
exec 9>&-
of() { sed -n "s/^$1=//p" "$file" | sed -e "s/%p/$prefix/g" -e "s/%i/$instance/g" -e "s#/opt/waymark#$FOLDER/opt/waymark#g" -e "s#/etc/waymark#$FOLDER/etc/waymark#g" -e "s#/var/lib/#$FOLDER/var/#g" -e "s#/usr/bin/node#node#g"; }
read_unit() {
  unit=${1%.service} prefix=${1%%@*} instance=
  [[ $unit != *@* ]] || { instance=${unit#*@}; prefix+=@; }
  file=$FOLDER/etc/systemd/system/${prefix%.service}.service
  prefix=${unit%%@*}
}
run() { # LINE
  local name
  set -a
  while read -r name; do [[ ! -e ${name#-} ]] || . "${name#-}"; done < <(of EnvironmentFile)
  eval "$(of Environment | sed 's/.*/export "&"/')"
  set +a
  mkdir -p "$FOLDER/var/$(of StateDirectory)"
  cd "$(of WorkingDirectory)"
  exec $1 >>"$FOLDER/log/$unit.log" 2>&1
}
supervise() {
  while [[ -e $FOLDER/run/$unit.wanted ]]; do
    (run "$(of ExecStart)") &
    echo $! >"$FOLDER/run/$unit.pid"
    wait $! || true
    [[ ! -e $FOLDER/run/$unit.wanted ]] || sleep 2
  done
  rm -f "$FOLDER/run/$unit.pid"
}
stop_unit() {
  rm -f "$FOLDER/run/$unit.wanted"
  [[ -e $FOLDER/run/$unit.pid ]] || return 0
  kill "$(cat "$FOLDER/run/$unit.pid")" 2>/dev/null || true
  for _ in {1..300}; do
    [[ -e $FOLDER/run/$unit.pid ]] || return 0
    sleep 0.1
  done
  kill -9 "$(cat "$FOLDER/run/$unit.pid")" || true
  sleep 0.5
}
command=$1
shift
case $command in
  daemon-reload) ;;
  list-units)
    for file in "$FOLDER"/run/*.wanted; do
      unit=$(basename "$file" .wanted).service
      for pattern in "$@"; do [[ $pattern == --* || $unit != $pattern ]] || echo "$unit loaded active running"; done
    done
    ;;
  start | reload-or-restart)
    read_unit "$1"
    if [[ $command == start ]]; then line=$(of ExecStart); else line=$(of ExecReload); fi
    (run "$line")
    ;;
  restart)
    read_unit "$1"
    stop_unit
    touch "$FOLDER/run/$unit.wanted"
    supervise </dev/null >/dev/null 2>&1 &
    ;;
esac
END
chmod +x "$folder/bin/systemctl"
export PATH=$folder/bin:$PATH

# Three releases: this one on other ports, one with a migration more, and a bad one.
git clone --quiet --shared "$root" "$opt"
cd "$opt"
git config user.name try && git config user.email try@localhost && git config commit.gpgsign false
rm -f docker/systemd/*.mjs && cp "$root"/docker/upgrade.sh docker/ && cp "$root"/docker/systemd/waymark* docker/systemd/ && cp "$root"/docker/nginx.conf docker/
sed -i -E 's/_PORT=/_PORT=2/' docker/systemd/waymark*.env
sed -i -E 's/127\.0\.0\.1:4/127.0.0.1:24/' docker/nginx.conf
git add --all && git commit --quiet --no-verify --message first && git tag first
mkdir prisma/migrations/29990101000000_try
echo 'CREATE TABLE try_upgrade (id int);' >prisma/migrations/29990101000000_try/migration.sql
git add --all && git commit --quiet --no-verify --message second && git tag second
printf 'await new Promise(() => setInterval(() => undefined, 1_000));\n' >apps/trace-api/src/main.ts
git add --all && git commit --quiet --no-verify --message bad && git tag bad
git checkout --quiet first
pnpm="npx --yes $(node -p 'require("./package.json").packageManager')"
$pnpm install --frozen-lockfile --prefer-offline --silent && $pnpm --silent build
ln -s . current
cp docker/systemd/waymark*.{service,timer} "$etc/systemd/system/"

# What waymark setup --systemd and README.md would set, for the servers at hand.
owner=${TEST_DATABASE_URL%/*}/waymark_try
node --input-type=module -e '
  import pg from "'"$root"'/packages/database/node_modules/pg/esm/index.mjs";
  const client = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
  await client.connect();
  await client.query("CREATE DATABASE waymark_try");
  await client.end();'
{
  echo "DATABASE_URL=$owner"
  for app in TRACE_API ANALYTICS_API COLLECTOR WORKER DASHBOARD; do echo "${app}_DB_PASSWORD=try-try-try-try"; done
} >"$etc/waymark/migrate.env"
for app in trace-api analytics-api collector worker dashboard; do
  echo "DATABASE_URL=$(sed -E "s#//[^@]*@#//waymark_${app//-/_}:try-try-try-try@#" <<<"$owner")" >"$etc/waymark/$app.env"
done
echo "REDIS_URL=${TEST_REDIS_URL:-}" >"$etc/waymark/common.env"
echo "DASHBOARD_URL=https://waymark.example.com" >>"$etc/waymark/dashboard.env"
waymark() { DATABASE_URL=$owner node "$opt/packages/cli/bin/waymark.mjs" "$@" --json; }
field() { node -pe "JSON.parse(fs.readFileSync(0)).$1"; }
(set -a && . "$etc/waymark/migrate.env" && waymark migrate) >"$folder/log/migrate.log"
account=$(waymark account create --email upgrade@example.com --plan pro | field id)
TRACE_KEY=$(waymark key create --account "$account" --service trace --name try | field key)
STATS_KEY=$(waymark key create --account "$account" --service analytics --name try | field key)
SITE=$(waymark site create --account "$account" --domain upgrade.example --name try | field id)

# As in Debian's nginx.conf, but for two workers and the folder.
{
  echo "daemon off; worker_processes 2; pid $folder/nginx/pid; events {} http { access_log off; types {}"
  for name in client_body proxy fastcgi uwsgi scgi; do echo "${name}_temp_path $folder/nginx/$name;"; done
  sed -e '/listen \[::\]/d' -e "s/listen 80;/listen 127.0.0.1:$port;/" docker/nginx.conf
  echo "}"
} >"$folder/nginx/nginx.conf"
nginx -c "$folder/nginx/nginx.conf" -e "$folder/nginx/error.log" &
nginx=$!
ready() { curl --silent --fail --max-time 3 --output /dev/null "http://127.0.0.1:$1/ready"; }
for app in trace-api analytics-api collector worker dashboard; do systemctl restart "waymark@$app" && systemctl restart "waymark-2@$app"; done
until_ready() { for _ in {1..120}; do ready $1 && return || sleep 0.5; done; return 1; }
for at in 24101 24111 24201 24211 24301 24311 24401 24411 24001 24011; do
  until_ready $at || end "The instance with the metrics port $at is not ready."
done
echo "Two instances of each app are ready, behind nginx."

# phase TITLE FAILURES COMMAND...: runs the command under load, until it ended and 3,000 requests were made.
phase() {
  local title=$1 code=0 failures=$2 load
  shift 2
  echo "== $title"
  rm -f "$folder/stop"
  node "$here/requests.mjs" $port "$folder/stop" 3000 "$failures" "$TRACE_KEY" "$STATS_KEY" "$SITE" >"$folder/load" &
  load=$!
  sleep 3
  "$@" || code=$?
  sleep 3
  touch "$folder/stop"
  wait $load || { cat "$folder/load"; end "Requests failed."; }
  cat "$folder/load"
  return $code
}
upgrade() { "$opt/current/docker/upgrade.sh" --ignore-doctor "$@"; }
kill_one() {
  kill -9 "$(cat "$folder/run/waymark@trace-api.pid")"
  sleep 1
  until_ready 24101 || end "The ended instance did not come back."
}

"$opt/docker/upgrade.sh" --to second --dry-run --ignore-doctor --no-backup | grep -v '✓'
phase "Upgrade" 0 upgrade --to second || end "The upgrade failed."
[[ $(readlink current) == releases/* ]] || end "The link does not lead to the release."
phase "Back" 0 upgrade --back || end "Going back failed."
[[ $(readlink current) == . ]] || end "The link does not lead back."
# Each of the five senders has one request in hand; a delivered POST or PATCH may be stored, so nginx answers 503.
phase "kill -9 of one instance" 5 kill_one
code=0
phase "A release that never becomes ready" 0 upgrade --to bad --wait 10 || code=$?
[[ $code == 1 && $(readlink current) == . ]] || end "The bad release did not go back by itself ($code)."
for at in 24101 24111 24301 24311 24001 24011; do ready $at || end "$at is not ready."; done
echo "All is well."
