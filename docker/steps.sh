#!/bin/sh
# The steps that make the files of the images: docker/Dockerfile runs them in its stages, docker/check.sh in bare
# folders, so both build the same. They need node, pnpm and turbo on the PATH.
set -eu

# The programs of the containers; `cli` is the command line and shares its image with the migrations.
apps="trace-api analytics-api collector worker dashboard cli"

export CI=true
export TURBO_TELEMETRY_DISABLED=1

# prune OUT: splits the repository in the working directory into OUT/all, ready to build, and OUT/<app>, a list of
# the packages and locked dependencies of the running app.
prune() {
  out=$1
  set --
  for app in $apps; do
    turbo prune "@waymark/$app" --docker --production --out-dir "$out/$app"
    set -- "$@" "@waymark/$app"
  done
  turbo prune "$@" --docker --out-dir "$out/all"
  # The build also reads these; no package contains them.
  cp tsconfig.base.json tsconfig.build.json "$out/all/full/"
  mkdir -p "$out/all/full/prisma"
  cp -r prisma/schema.prisma prisma/migrations "$out/all/full/prisma/"
  # The steps below install the dependencies; running a script must not install them again. pnpm lets the workspace file
  # win over a variable, and turbo hands variables on to no task.
  find "$out" -name pnpm-workspace.yaml -exec sed -i 's/^verifyDepsBeforeRun:.*/verifyDepsBeforeRun: false/' {} +
}

# install: all dependencies of the build, into the working directory, from the manifests and lockfile there.
install() {
  pnpm install --frozen-lockfile --ignore-scripts
}

# build: the apps and their packages, in the working directory; not the packages for development only.
build() {
  set --
  for app in $apps; do
    set -- "$@" "--filter=@waymark/$app..."
  done
  turbo run build "$@" --output-logs=errors-only
}

# collect PRUNED OUT: copies the files of each running app from the built working directory into OUT/<app>.
collect() {
  pruned=$1
  out=$2
  for app in $apps; do
    find "$pruned/$app/json" -mindepth 3 -name package.json | while read -r manifest; do
      package=${manifest#"$pruned/$app/json/"}
      package=${package%/package.json}
      mkdir -p "$out/$app/$package"
      for part in dist bin assets; do
        [ ! -d "$package/$part" ] || cp -R "$package/$part" "$out/$app/$package/"
      done
    done
    # Our source maps stay, so stacks name lines of the sources.
    find "$out/$app" -type f -name '*.d.ts' -delete
  done
}

# modules: the production dependencies, into the working directory, from one app's manifests and lockfile there.
# Optional dependencies stay out: to pnpm the Prisma command line and TypeScript are optional peers of the Prisma client,
# 250 MB without use at run time; the real ones only speed up code with a fallback in JavaScript.
modules() {
  pnpm install --prod --no-optional --frozen-lockfile --ignore-scripts
  # Nothing reads types and source maps here.
  find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete
  # The Prisma client brings a query compiler per database and module system; ours imports one of the twenty.
  find node_modules/.pnpm/@prisma+client@*/node_modules/@prisma/client/runtime -type f \
    -name 'query_compiler_*' ! -name 'query_compiler_fast_bg.postgresql.*mjs' -delete
  # The country database has one file for all addresses, the one in use, and one for each kind.
  find node_modules/.pnpm/@ip-location-db+*/ -type f -name '*-ipv[46].mmdb' -delete 2>/dev/null || true
  # pnpm's files for its next run: there is none, and a scanner would take the lockfile for the installed packages.
  rm -f pnpm-lock.yaml pnpm-workspace.yaml .npmrc node_modules/.modules.yaml node_modules/.pnpm-workspace-state-v1.json \
    node_modules/.pnpm/lock.yaml
}

step=$1
shift
case $step in
  prune | install | build | collect | modules) "$step" "$@" ;;
  *)
    echo "There is no step '$step'." >&2
    exit 2
    ;;
esac
