#!/bin/sh
# Checks without Docker whether the images would build and start; --help says how.
set -eu

usage() {
  cat <<'END'
Usage: docker/check.sh [APP...]

Makes the files of each image as docker/Dockerfile does (the same steps, from what .dockerignore lets through), each in
an empty temporary folder. Then applies the migrations to a Postgres made for it and starts the apps from those folders,
as another user than root where it can: with a Redis, where redis-server is installed, and without. Asks /health, /ready
and /metrics, makes a request with a key, and stops them. Prints the size of each folder and the memory of each app.
Ends with 1 at the first thing that is wrong.

  APP     what to start: trace-api, analytics-api, collector, worker, dashboard (all of them if none is named); all are built
  --help  shows this

Needs node, npm and git, and this repository's dependencies: 'npx --yes pnpm@10.34.9 install' installs them.
END
}

apps="trace-api analytics-api collector worker dashboard"
root=$(cd "$(dirname "$0")/.." && pwd)

say() { printf '%s\n' "$*"; }

fail() {
  printf 'docker/check.sh: %s\n' "$*" >&2
  exit 1
}

# Building, in the order of the Dockerfile's stages.

# The Dockerfile must install the versions of the repository.
check_versions() {
  for tool in pnpm turbo; do
    variable=$(printf '%s_VERSION' "$tool" | tr '[:lower:]' '[:upper:]')
    there=$(sed -n "s/^ARG $variable=//p" "$root/docker/Dockerfile")
    here=$(cd "$root" && node -p 'const { packageManager, devDependencies } = require("./package.json");
      ({ pnpm: packageManager.split("@")[1], ...devDependencies })[process.argv[1]]' "$tool")
    [ "$there" = "$here" ] || fail "docker/Dockerfile installs $tool $there, package.json names $here."
  done
  there=$(sed -n 's/^ARG NODE_IMAGE=node:\([0-9.]*\)-.*@sha256:[0-9a-f]\{64\}$/\1/p' "$root/docker/Dockerfile")
  [ -n "$there" ] || fail "docker/Dockerfile does not name Node's image by version and digest."
  [ "v$there" = "$(node --version)" ] || say "Node $(node --version) here, v$there in the images."
  # The same default as in the Dockerfile, so Compose and docker build make the same images.
  image=$(sed -n 's/^ARG NODE_IMAGE=//p' "$root/docker/Dockerfile")
  grep -q "NODE_IMAGE:-$image}" "$root/docker/compose.yaml" || fail "docker/compose.yaml builds on another image than docker/Dockerfile."
}

# Puts the Dockerfile's two tools on the PATH, in its versions.
provide_tools() {
  mkdir "$work/bin"
  pnpm_version=$(sed -n 's/^ARG PNPM_VERSION=//p' "$root/docker/Dockerfile")
  if [ "$(cd "$work" && pnpm --version 2>/dev/null || true)" != "$pnpm_version" ]; then
    printf '#!/bin/sh\nexec npx --yes pnpm@%s "$@"\n' "$pnpm_version" >"$work/bin/pnpm"
  fi
  printf '#!/bin/sh\nexec "%s" "$@"\n' "$root/node_modules/.bin/turbo" >"$work/bin/turbo"
  chmod -R +x "$work/bin"
  export PATH="$work/bin:$PATH"
}

# The files for `docker build`. An empty repository makes git apply .dockerignore, and nothing else, to every file.
copy_context() {
  git init --quiet --bare "$work/empty.git"
  mkdir "$work/context"
  (cd "$root" && git --git-dir="$work/empty.git" --work-tree=. ls-files -z --others --exclude-from=.dockerignore) |
    tar --create --directory="$root" --null --files-from=- | tar --extract --directory="$work/context"
}

# step FOLDER STEP...: one of the steps, in a folder and with its output shown only when it fails.
step() {
  folder=$1
  shift
  say "  $1, in ${folder#"$work/"}"
  (cd "$folder" && "$work/context/docker/steps.sh" "$@") >"$work/step.log" 2>&1 || {
    cat "$work/step.log" >&2
    fail "the step '$*' failed."
  }
}

# A change of sources must install nothing anew: the build goes on without access to dependencies.
rebuild() {
  printf '\nexport const changed = true;\n' >>"$work/context/packages/errors/src/index.ts"
  rm -rf "$work/pruned"
  step "$work/context" prune "$work/pruned"
  # As COPY does, with times of its own.
  find "$work/pruned/all" -type f -exec touch {} +
  cp -R "$work/pruned/all/json/." "$work/pruned/all/full/." "$work/built/"
  mkdir "$work/empty-store"
  (
    export npm_config_store_dir="$work/empty-store" npm_config_registry=http://127.0.0.1:9 npm_config_fetch_retries=0
    step "$work/built" build
  )
  grep -q changed "$work/built/packages/errors/dist/index.js" || fail "the rebuild did not see the change of a source."
}

build() {
  say "Building in $work"
  copy_context
  step "$work/context" prune "$work/pruned"
  mkdir "$work/built"
  cp -R "$work/pruned/all/json/." "$work/built/"
  step "$work/built" install
  cp -R "$work/pruned/all/full/." "$work/built/"
  step "$work/built" build
  rebuild
  step "$work/built" collect "$work/pruned" "$work/collected"
  for image in $apps cli; do
    mkdir -p "$work/images/$image"
    cp -R "$work/pruned/$image/json/." "$work/images/$image/"
    step "$work/images/$image" modules
    cp -R "$work/collected/$image/." "$work/images/$image/"
  done
  mkdir "$work/images/cli/prisma"
  cp -R "$work/context/prisma/migrations" "$work/images/cli/prisma/"
  # An app with a missing file must not find it in the build.
  rm -rf "$work/context" "$work/pruned" "$work/built" "$work/collected"
  say "Sizes, which come on top of Node's own image"
  for image in $apps cli; do
    say "  $image $(du -sm "$work/images/$image" | cut -f1) MB"
  done
}

# Starting: the second half, run by with-test-servers.mjs with TEST_DATABASE_URL and TEST_REDIS_URL set.

# bare FOLDER VARIABLE=VALUE... COMMAND...: runs a command in an image's folder and with an image's environment: of ours
# it gets only the given variables.
bare() {
  folder=$1
  shift
  cd "$work/images/$folder"
  # shellcheck disable=SC2086 # $as is a command with its arguments, or nothing.
  exec $as env -i PATH="$PATH" NODE_ENV=production NODE_OPTIONS=--enable-source-maps \
    WAYMARK_DATA_DIR="$work/data" DATABASE_URL="$TEST_DATABASE_URL" "$@"
}

waymark() {
  (bare cli node packages/cli/bin/waymark.mjs --json "$@")
}

# field NAME: a field of the JSON object on standard input.
field() {
  node -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8"))[process.argv[1]]' "$1"
}

free_port() {
  node -e 'const server = require("node:net").createServer().listen(0, "127.0.0.1", () => {
    console.log(server.address().port); server.close(); })'
}

# ask STATUS URL [METHOD KEY BODY]: makes a request as a browser would and shows its answer; fails if the status is another
# one, or if the collector left an event out.
ask() {
  # shellcheck disable=SC2016 # The dollar signs are JavaScript's.
  node --input-type=module -e '
    const [status, url, method = "GET", key = "", body] = process.argv.slice(1);
    const headers = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", ...(key && { authorization: `Bearer ${key}` }), ...(body && { "content-type": "application/json" }) };
    const answer = await fetch(url, { method, headers, body }).catch(({ cause }) => process.exit(console.log(`  ${cause}`) ?? 1));
    const [line] = (await answer.text()).split("\n");
    console.log(`  ${method} ${new URL(url).pathname} ${answer.status} ${line.slice(0, 90)}`);
    process.exitCode = String(answer.status) === status && !answer.headers.has("x-waymark-dropped") ? 0 : 1;' "$@" || broken "$app did not answer $1 to ${3:-GET} $2."
}

broken() {
  tail -n 20 "$work/$app.log" >&2
  fail "$*"
}

# Waits until the app answers at all: for half a minute, or until it has ended.
await_app() {
  tries=0
  until node -e 'fetch(process.argv[1]).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))' "$1"; do
    tries=$((tries + 1))
    kill -0 "$pid" 2>/dev/null || broken "$app has ended instead of running."
    [ "$tries" -lt 120 ] || broken "$app does not answer."
    sleep 0.25
  done
}

# check_app APP REDIS_URL
check_app() {
  app=$1
  say "$app, $([ -n "$2" ] && echo with || echo without) Redis"
  prefix=$(printf '%s' "$app" | tr '[:lower:]-' '[:upper:]_')
  port=$(free_port)
  metrics_port=$(free_port)
  # With a key the worker loads the code for mails; nothing listens at the address.
  (bare "$app" "${prefix}_PORT=$port" "${prefix}_METRICS_PORT=$metrics_port" REDIS_URL="$2" \
    RESEND_API_KEY=check RESEND_BASE_URL=http://127.0.0.1:9 ALERT_FROM=check@example.com \
    node "apps/$app/dist/main.js") >"$work/$app.log" 2>&1 &
  pid=$!
  [ "$app" != worker ] || port=$metrics_port
  await_app "http://127.0.0.1:$port/health"
  ask 200 "http://127.0.0.1:$port/health"
  ask 200 "http://127.0.0.1:$port/ready"
  ask 200 "http://127.0.0.1:$metrics_port/metrics"
  case $app in
    trace-api)
      ask 404 "http://127.0.0.1:$port/metrics"
      ask 201 "http://127.0.0.1:$port/api/v1/traces" POST "$(key_for trace)" \
        '{"agent_id":"check","name":"check","status":"running","started_at":"2026-01-01T00:00:00Z"}'
      ;;
    analytics-api)
      ask 404 "http://127.0.0.1:$port/metrics"
      ask 200 "http://127.0.0.1:$port/api/v1/sites" GET "$(key_for analytics)"
      ;;
    collector)
      ask 404 "http://127.0.0.1:$port/metrics"
      ask 200 "http://127.0.0.1:$port/js/script.js"
      ask 202 "http://127.0.0.1:$port/api/event" POST "" '{"n":"check","u":"https://check.example/","d":"check.example"}'
      ;;
    dashboard)
      ask 404 "http://127.0.0.1:$port/metrics"
      ask 200 "http://127.0.0.1:$port/dashboard/sign-in"
      ask 401 "http://127.0.0.1:$port/dashboard/api/me"
      check_script "http://127.0.0.1:$port/dashboard/sign-in"
      ;;
  esac
  check_stack
  say "  $(($(ps -o rss= -p "$pid") / 1024)) MB of memory"
  kill "$pid"
  code=0
  wait "$pid" || code=$?
  [ "$code" -eq 0 ] || broken "$app ended with $code when it was asked to stop."
  pid=
}

# The page's script must be among the files of the image.
check_script() {
  script=$(node -e 'fetch(process.argv[1]).then((answer) => answer.text()).then((page) =>
    console.log(new URL(/<script[^>]* src="([^"]+)"/.exec(page)[1], process.argv[1]).href))' "$1")
  ask 200 "$script"
}

# Stacks have to name lines of sources.
check_stack() {
  (bare "$app" node --input-type=module -e '
    const { commonVariables, readEnv } = await import(process.cwd() + "/packages/service/dist/process/index.js");
    try { readEnv({}, commonVariables) } catch (error) { console.log(error.stack) }') |
    grep -q "packages/service/src/process/env.ts:[0-9]" || broken "$app has stacks without lines of sources."
  say "  stacks name lines of sources"
}

key_for() {
  waymark key create --account "$account" --service "$1" --name check | field key
}

start() {
  as=
  mkdir "$work/data"
  if [ "$(id -u)" -eq 0 ] && setpriv --reuid=1000 --regid=1000 --clear-groups node --version >/dev/null 2>&1; then
    as="setpriv --reuid=1000 --regid=1000 --clear-groups --no-new-privs"
    chown 1000:1000 "$work/data"
  fi
  say "Starting${as:+ as user 1000}"
  pid=
  trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || true' EXIT
  trap 'exit 130' INT TERM
  (bare cli node packages/cli/bin/waymark.mjs migrate) || fail "the migrations could not be applied."
  (bare cli node packages/cli/bin/waymark.mjs migrate) || fail "the migrations could not be applied twice."
  account=$(waymark account create --email check@example.com --plan pro | field id)
  waymark site create --account "$account" --domain check.example --name check >/dev/null
  for chosen in "$@"; do
    [ -z "${TEST_REDIS_URL:-}" ] || check_app "$chosen" "$TEST_REDIS_URL"
    check_app "$chosen" ""
  done
}

case ${1:-} in
  -h | --help)
    usage
    exit
    ;;
  --start)
    work=$2
    shift 2
    start "$@"
    exit
    ;;
esac
for app in "$@"; do
  case " $apps " in
    *" $app "*) ;;
    *)
      usage >&2
      fail "there is no app '$app'."
      ;;
  esac
done
[ -x "$root/node_modules/.bin/turbo" ] || fail "the dependencies are missing. Run 'npx --yes pnpm@10.34.9 install' first."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
# The apps run as another user; it must be able to read their files.
chmod 755 "$work"
check_versions
provide_tools
build
(cd "$root" && TURBO_TELEMETRY_DISABLED=1 turbo run build --filter=@waymark/local... --output-logs=errors-only >/dev/null)
# shellcheck disable=SC2086 # A word each.
[ $# -gt 0 ] || set -- $apps
node "$root/packages/local/bin/with-test-servers.mjs" "$root/docker/check.sh" --start "$work" "$@"
say "All is well."
