import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";

const script = fileURLToPath(new URL("../../../docker/upgrade.sh", import.meta.url));
let folder: string;
let first: string;
let second: string;

/** It has containers old-APP and, after a start beside them, new-APP; a line of `FAILS` is a command that fails. */
const fakeDocker = `#!/usr/bin/env bash
echo "$* \${WAYMARK_VERSION:+[$WAYMARK_VERSION]}" >>"$CALLS"
case "$*" in
  "image inspect"*) grep -qx "built $3" "$STATE" || exit 1 ;;
  *" build") echo "built waymark-dashboard:$WAYMARK_VERSION" >>"$STATE" ;;
  *"config --services") echo proxy ;;
  *"ps --quiet"*) echo "old-$4"; ! grep -qx "$4" "$STATE" || echo "new-$4" ;;
  *"--scale"*) echo "\${@: -1}" >>"$STATE" ;;
  "rm "*) last=\${@: -1} && sed -i "/^\${last#*-}$/d" "$STATE" ;;
esac
[[ -z $FAILS || "$*" != *$FAILS* ]]
`;
const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, encoding: "utf8" }).trim();

function commit(name: string): string {
  writeFileSync(join(folder, "release"), name);
  git("add", "--all");
  git("-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "--quiet", "--message", name);
  git("tag", name);
  return git("rev-parse", "--short=12", "HEAD");
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "waymark-upgrade-"));
  for (const name of ["docker", "bin"]) mkdirSync(join(folder, name));
  copyFileSync(script, join(folder, "docker/upgrade.sh"));
  writeFileSync(join(folder, "bin/docker"), fakeDocker);
  chmodSync(join(folder, "bin/docker"), 0o755);
  for (const name of ["calls", "state"]) writeFileSync(join(folder, "bin", name), "");
  writeFileSync(join(folder, ".gitignore"), "bin/\ndocker/.env\ndocker/.former\n");
  writeFileSync(join(folder, "docker/.env"), "LOG_LEVEL=info\nWAYMARK_VERSION=local\n");
  git("init", "--quiet");
  first = commit("first");
  second = commit("second");
  git("checkout", "--quiet", "--detach", "first");
});
afterEach(() => rmSync(folder, { recursive: true }));

function upgrade(args: readonly string[], fails = "") {
  const [calls, state] = [join(folder, "bin/calls"), join(folder, "bin/state")];
  writeFileSync(calls, "");
  const env = { PATH: `${join(folder, "bin")}:/usr/bin:/bin`, CALLS: calls, STATE: state, FAILS: fails, HOME: folder };
  const options = { encoding: "utf8", env } as const;
  const { status, stdout, stderr } = spawnSync(join(folder, "docker/upgrade.sh"), ["--compose", ...args], options);
  const asked = readFileSync(calls, "utf8")
    .split("\n")
    .map((line) => line.trim());
  return { status, stdout, stderr, asked: asked.filter((line) => line && !/inspect|compose (config|ps) /.test(line)) };
}
const version = () => /^WAYMARK_VERSION=(.*)$/m.exec(readFileSync(join(folder, "docker/.env"), "utf8"))?.[1];
const head = () => git("rev-parse", "--short=12", "HEAD");
const replaced = (asked: readonly string[]) => asked.filter((line) => line.startsWith("rm old-"));

describe("docker/upgrade.sh --compose", () => {
  it("builds, backs up, migrates, and replaces one container after the other; and goes back without a build", () => {
    const there = upgrade(["--to", "second"]);
    expect({ ...there, asked: [] }).toMatchObject({ status: 0, stderr: "" });
    const steps = there.asked.filter((line) => line.startsWith("compose")).slice(0, 5);
    expect(steps).toEqual([
      "compose run --rm --no-deps cli doctor --operator",
      `compose build [${second}]`,
      "compose run --rm --no-deps -T backup node packages/cli/bin/waymark.mjs backup --into /data --keep 14",
      "compose run --rm --no-deps migrate",
      "compose up --detach --no-deps --no-recreate --scale trace-api=2 trace-api",
    ]);
    const apps = ["trace-api", "analytics-api", "collector", "dashboard"];
    expect(replaced(there.asked)).toEqual(apps.map((app) => `rm old-${app}`));
    expect(there.asked).toContain(`image tag waymark-worker:local waymark-worker:${first}`);
    expect([version(), head()]).toEqual([second, second]);
    writeFileSync(join(folder, "bin/state"), `built waymark-dashboard:${first}\n`);
    const back = upgrade(["--back"]);
    expect(back.status).toBe(0);
    expect(back.asked.filter((line) => line.includes("build"))).toEqual([]);
    expect([version(), head()]).toEqual([first, first]);
  });

  it("replaces nothing where doctor, build, backup or migrate fails", () => {
    for (const fails of ["doctor", "compose build", "backup", "--no-deps migrate"]) {
      const { status, asked } = upgrade(["--to", "second"], fails);
      expect({ fails, status, up: asked.filter((line) => line.includes(" up ")) }).toEqual({
        fails,
        status: 1,
        up: [],
      });
      expect(head()).toBe(first);
      expect([first, "local"]).toContain(version());
    }
  });

  it("goes back where a container is not ready", () => {
    const { status, stdout, asked } = upgrade(["--to", "second", "--wait", "0"], "exec new-collector");
    expect(stdout).toContain("collector is not ready after 0 s.");
    expect(asked).toContain("rm --force new-collector");
    expect(status).toBe(3);
    expect(replaced(asked)).toEqual([
      "rm old-trace-api",
      "rm old-analytics-api",
      "rm old-trace-api",
      "rm old-analytics-api",
    ]);
    expect([version(), head()]).toEqual([first, first]);
  });

  it("shows the steps with --dry-run and does none; refuses wrong arguments", () => {
    const { status, stdout, asked } = upgrade(["--to", "second", "--dry-run"]);
    expect({ status, asked }).toEqual({ status: 0, asked: ["compose run --rm --no-deps cli doctor --operator"] });
    expect(stdout).toContain("would run: compose build");
    expect([version(), head()]).toEqual(["local", first]);
    for (const args of [[], ["--to"], ["--to", "a", "--back"], ["--back", "--wait", "soon"], ["--sideways"]])
      expect({ args, status: upgrade(args).status }).toEqual({ args, status: 2 });
    expect(upgrade(["--back"])).toMatchObject({ status: 1, stderr: "upgrade.sh: there was no upgrade yet.\n" });
    expect(upgrade(["--to", "third"])).toMatchObject({
      status: 1,
      stderr: "upgrade.sh: there is no release 'third'.\n",
    });
  });
});
