import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const names = readdirSync(`${root}prisma/migrations`).filter((name) => /^\d/.test(name));

const init = "20261124061717_init";

/** The UTC time of a name, in milliseconds; NaN where it is none. */
function timeOf(name: string): number {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)_[a-z][a-z0-9_]*$/.exec(name) ?? [];
  const text = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const time = new Date(text);
  return Number.isNaN(time.getTime()) || time.toISOString() !== text ? Number.NaN : time.getTime();
}

/** Names without a real time, dated after their commit, or older than a migration of an earlier commit. */
function findBadNames(inOrderOfCommit: readonly { name: string; committed: number }[]): string[] {
  let newest = 0;
  let newestOfCommit = 0;
  let last = 0;
  return inOrderOfCommit
    .filter(({ name, committed }) => {
      const time = timeOf(name);
      if (committed !== last) newest = newestOfCommit;
      last = committed;
      newestOfCommit = Math.max(newestOfCommit, time || 0);
      return !(time <= committed) || time <= newest;
    })
    .map(({ name }) => name);
}

/** When a commit first gave each migration its name, oldest first; names without a commit come last, as of now. */
function readCommits(): { name: string; committed: number }[] {
  const format = ["log", "--reverse", "--no-renames", "--diff-filter=A", "--format=@%ct", "--name-only"];
  const log = spawnSync("git", [...format, "--", "prisma/migrations"], { cwd: root, encoding: "utf8" });
  const committed = new Map<string, number>();
  let at = 0;
  for (const line of log.status === 0 ? log.stdout.split("\n") : []) {
    if (line.startsWith("@")) at = Number(line.slice(1)) * 1_000;
    const name = /^prisma\/migrations\/(\w+)\/migration\.sql$/.exec(line)?.[1];
    if (name && names.includes(name)) committed.set(name, committed.get(name) ?? at);
  }
  // `migrate` puts `init` in place of the migrations that it holds, so it comes before those that its commit met.
  committed.set(init, timeOf(init));
  const all = names.map((name) => ({ name, committed: committed.get(name) ?? Date.now() }));
  return all.sort((a, b) => a.committed - b.committed || (a.name < b.name ? -1 : 1));
}

describe("names of migrations", () => {
  it("that break the rule are found", () => {
    const committed = Date.UTC(2026, 10, 25, 12);
    const found = findBadNames([
      { name: "20261124120000_first", committed },
      { name: "20261124120001_second", committed },
      { name: "20261123900000_hour_90", committed: committed + 1 },
      { name: "20261124110000_older", committed: committed + 2 },
      { name: "20261126120000_tomorrow", committed: committed + 3 },
    ]);
    expect(found).toEqual(["20261123900000_hour_90", "20261124110000_older", "20261126120000_tomorrow"]);
  });

  it("are times before their commits, and later than those of earlier commits", () => {
    expect(findBadNames(readCommits())).toEqual([]);
  });
});
