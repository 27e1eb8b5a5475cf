#!/usr/bin/env bash
# Brings an installation to another release, and back by itself if that fails; --help says how.
set -euo pipefail

usage() {
  cat <<'END'
Usage: docker/upgrade.sh (--to REF | --back) [OPTION...]

Checks the installation, builds the release, writes a backup, migrates, and replaces one instance after the other, each
once the one before answers /ready. When something fails, it goes back to the former release, whose files or images it
keeps. No request fails behind nginx.conf with two instances, or behind compose.production.yaml.

  --to REF         a tag, branch or commit, fetched first
  --back           the release before the last upgrade
  --compose        the containers of Compose; left out, the units of systemd
  --dry-run        shows the steps, does none
  --ignore-doctor  goes on with what 'waymark doctor --operator' calls wrong
  --no-backup      another tool makes the backups
  --yes            goes on where a migration needs a quiet hour; the units always do
  --wait SECONDS   how long an instance may take until /ready (60)

Exit codes: 0 done, 1 nothing was replaced, or all is as before, 2 wrong arguments, 3 some instances could not go back.
Run it as root for the units: they start in /opt/waymark/current, a link to the release below /opt/waymark/releases.
END
}

apps="trace-api analytics-api collector worker dashboard"
# nginx asks a failed server again after its fail_timeout of 2 s, counted in whole seconds.
settle=4
etc=${WAYMARK_ETC:-/etc}

say() { printf '%s %s\n' "$(date -u +%H:%M:%S)" "$*"; }

fail() {
  printf 'upgrade.sh: %s\n' "$*" >&2
  exit 1
}

act() { if [[ -n $dry ]]; then say "  would run: $*"; else "$@"; fi; }

# until_ready COMMAND...: repeats the command until it succeeds.
until_ready() {
  [[ -z $dry ]] || return 0
  local until=$((SECONDS + wait))
  until "$@"; do
    ((SECONDS < until)) || return 1
    sleep 0.5
  done
}

# --- The units of systemd. A release is a folder, named from the clone's.

systemd_former() { readlink current 2>/dev/null || echo .; }
systemd_before() { readlink releases/former || fail "there was no upgrade yet."; }
systemd_release() { [[ -n $ref ]] && echo "releases/$1" || systemd_before; }

systemd_check() { node "$former/packages/cli/bin/waymark.mjs" doctor --operator --settings "$etc/waymark/migrate.env"; }

systemd_build() {
  [[ ! -e $1/.built && $1 != . ]] || return 0
  act git worktree prune
  [[ -d $1 ]] || act git worktree add --quiet --detach "$1" "${1#releases/}"
  act build_in "$1"
}

build_in() (
  cd "$1"
  pnpm="npx --yes $(node -p 'require("./package.json").packageManager')"
  $pnpm install --frozen-lockfile --silent && $pnpm --silent build && touch .built
)

systemd_backup() { act systemctl start waymark-backup; }

# Leads the units to a release, and replaces their files where nobody changed them.
systemd_use() {
  local unit installed from
  from=$(systemd_former)
  for unit in "$1"/docker/systemd/waymark*.{service,timer}; do
    installed=$etc/systemd/system/${unit##*/}
    if [[ ! -e $installed ]] || cmp -s "$unit" "$installed"; then continue; fi
    if cmp -s "$from/docker/systemd/${unit##*/}" "$installed"; then act cp "$unit" "$installed"; else say "  $installed was changed and stays."; fi
  done
  act ln -sfn "$1" current.new && act mv -T current.new current && act systemctl daemon-reload
}

systemd_migrate() {
  act systemctl reload-or-restart waymark-migrate && return
  journalctl --unit waymark-migrate --lines 5 --no-pager --output cat 2>/dev/null || true
  return 1
}

systemd_instances() {
  local app
  for app in $apps; do
    systemctl list-units --plain --no-legend "waymark@$app.service" "waymark-2@$app.service" | awk '{ print $1 }'
  done
}

systemd_replace() {
  act systemctl restart "$1" && until_ready systemd_ready "$1" || return 1
  [[ $1 == *worker* ]] || act sleep "$settle"
}

# By the port that the unit's files give, the last one first.
systemd_ready() {
  local prefix=${1%@*} app=${1#*@} name port
  app=${app%.service}
  name=${app^^}_METRICS_PORT
  port=$(cat "$etc/waymark/$prefix@$app.env" "$etc/waymark/$app.env" "$etc/waymark/common.env" "current/docker/systemd/$prefix.env" 2>/dev/null | sed -n "s/^${name//-/_}=//p" | head -1)
  curl --silent --fail --max-time 3 --output /dev/null "http://127.0.0.1:$port/ready"
}

systemd_remember() { mkdir -p releases && act ln -sfn "$former" releases/former; }

systemd_done() {
  local unit old
  for unit in $(systemctl list-units --plain --no-legend 'waymark-follow@*' | awk '{ print $1 }'); do act systemctl restart "$unit"; done
  for old in releases/*; do
    [[ ! -d $old || -L $old || $old == "$former" || $old == "$release" ]] || act git worktree remove --force "$old"
  done
}

# --- The containers of Compose. A release is a commit, and the tag of its images.

compose() (cd docker && docker compose "$@")

compose_former() { git rev-parse --short=12 HEAD; }
compose_before() { cat docker/.former 2>/dev/null || fail "there was no upgrade yet."; }
compose_release() { [[ -n $ref ]] && echo "$1" || compose_before; }
compose_check() { compose run --rm --no-deps cli doctor --operator; }

compose_build() {
  local image tag
  tag=$(sed -n 's/^WAYMARK_VERSION=//p' docker/.env)
  for image in migrate $apps; do act docker image tag "waymark-$image:${tag:-local}" "waymark-$image:$former"; done
  docker image inspect "waymark-dashboard:$1" >/dev/null 2>&1 && return
  act git checkout --quiet --detach "$1"
  local code=0
  WAYMARK_VERSION=$1 act compose build || code=1
  act git checkout --quiet --detach "$former"
  return $code
}

compose_backup() { act compose run --rm --no-deps -T backup node packages/cli/bin/waymark.mjs backup --into /data --keep 14; }

compose_use() {
  act git checkout --quiet --detach "$1" && act set_version "$1"
}

set_version() { sed -i -e '/^WAYMARK_VERSION=/d' -e '$a\' docker/.env && echo "WAYMARK_VERSION=$1" >>docker/.env; }

compose_migrate() {
  # Without a terminal a migration for a quiet hour runs too.
  if [[ -n $yes ]]; then act compose run --rm --no-deps -T migrate; else act compose run --rm --no-deps migrate; fi
}

compose_instances() { printf '%s\n' $apps; }

# Starts a container of the release beside each other one, then stops that. Published ports allow one container only.
compose_replace() {
  local old all
  if [[ $1 == worker ]] || ! compose config --services | grep -qx proxy; then
    act compose up --detach --no-deps "$1" && until_ready compose_ready "$1" ""
    return
  fi
  for old in $(compose ps --quiet "$1"); do
    all=$(compose ps --quiet "$1")
    act compose up --detach --no-deps --no-recreate --scale "$1=$(($(wc -w <<<"$all") + 1))" "$1" || return 1
    if ! until_ready compose_ready "$1" "$all"; then
      remove_new "$1" "$all"
      return 1
    fi
    # The proxy looks its containers up each second.
    act sleep 2
    act docker stop --time 30 "$old" && act docker rm "$old"
  done
}

new_of() { compose ps --quiet "$1" | grep -vxF "$2"; }
remove_new() { act docker rm --force $(new_of "$1" "$2"); }

compose_ready() {
  local new
  new=$(new_of "$1" "$2") || return 1
  # shellcheck disable=SC2016 # Node's variables.
  docker exec "$new" node -e '
    const port = Object.entries(process.env).find(([name]) => /_METRICS_PORT$/.test(name))[1];
    fetch(`http://127.0.0.1:${port}/ready`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))'
}

compose_remember() { [[ -n $dry ]] || echo "$former" >docker/.former; }
compose_done() { :; }

# --- One way for both.

# go_back INSTANCE...: the former release for these instances, if its own migrate accepts the database.
go_back() {
  trap - INT TERM
  say "Going back to ${former/#./the clone}"
  "${driver}_use" "$former"
  if ! "${driver}_migrate"; then
    "${driver}_use" "$release"
    echo "upgrade.sh: $former may not use this database any more. Mend $release, or upgrade to a later one." >&2
    exit 3
  fi
  local instance code=1
  for instance in "$@"; do
    say "  $instance"
    "${driver}_replace" "$instance" || { say "  $instance is not ready."; code=3; }
  done
  say "Back at ${former/#./the clone}."
  exit $code
}

main() {
  driver=systemd dry='' ref='' back='' ignore='' backup=1 yes='' wait=60
  while (($#)); do
    case $1 in
      --to) ref=${2:-} && shift ;;
      --wait) wait=${2:-} && shift ;;
      --back) back=1 ;;
      --compose) driver=compose ;;
      --dry-run) dry=1 ;;
      --ignore-doctor) ignore=1 ;;
      --no-backup) backup='' ;;
      --yes) yes=1 ;;
      -h | --help) usage && exit ;;
      *) usage >&2 && exit 2 ;;
    esac
    shift || { usage >&2 && exit 2; }
  done
  [[ -n $ref$back && (-z $ref || -z $back) && $wait =~ ^[0-9]{1,4}$ ]] || { usage >&2 && exit 2; }
  cd "$(dirname "${BASH_SOURCE[0]}")"
  cd "$(dirname "$(git rev-parse --path-format=absolute --git-common-dir)")"
  exec 9>.git/upgrade.lock
  flock --nonblock 9 || fail "another upgrade is running."
  local commit='' instance instances replaced=()
  if [[ -n $ref ]]; then
    act git fetch --quiet --tags || fail "git fetch failed."
    commit=$(git rev-parse --quiet --verify --short=12 "origin/$ref^{commit}" || git rev-parse --quiet --verify --short=12 "$ref^{commit}") || fail "there is no release '$ref'."
  fi
  former=$("${driver}_former")
  release=$("${driver}_release" "$commit") || exit 1
  [[ $release != "$former" ]] || { say "${release/#./the clone} is in use already." && exit; }
  say "From ${former/#./the clone} to ${release/#./the clone}. Checking the installation"
  "${driver}_check" || [[ -n $ignore ]] || fail "the doctor calls something wrong: mend it, or add --ignore-doctor."
  say "Building ${release/#./the clone}"
  "${driver}_build" "$release" || fail "the build failed. Nothing was replaced."
  mapfile -t instances < <("${driver}_instances")
  ((${#instances[@]})) || fail "no instance runs. Nothing was replaced."
  if [[ -n $backup ]]; then
    say "Writing a backup"
    "${driver}_backup" || fail "there is no backup. Nothing was replaced."
  fi
  say "Migrating"
  "${driver}_remember"
  "${driver}_use" "$release" || fail "$release cannot be used. Nothing was replaced."
  "${driver}_migrate" || { "${driver}_use" "$former" && fail "migrate refused. Nothing was replaced."; }
  trap 'say "Interrupted." && go_back "${replaced[@]}"' INT TERM
  for instance in "${instances[@]}"; do
    say "Replacing $instance"
    replaced+=("$instance")
    "${driver}_replace" "$instance" || { say "$instance is not ready after $wait s." && go_back "${replaced[@]}"; }
  done
  "${driver}_done" || say "What the former releases left could not be removed."
  say "Done: ${release/#./the clone}. docker/upgrade.sh --back returns to ${former/#./the clone}."
}

# Read whole before it runs: Compose's checkout replaces this file.
{
  main "$@"
  exit
}
