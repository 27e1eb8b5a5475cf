import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";

/** Earlier subjects may be longer. */
const base = "645f263";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const log = spawnSync("git", ["log", "--format=%s", `${base}..HEAD`], { cwd: root, encoding: "utf8" });

/** `area: sentence`, 72 characters at most, so that lists of commits show it whole. */
const findBadSubjects = (subjects: readonly string[]) =>
  subjects.filter((subject) => subject.length > 72 || !/^[\w.][\w ,./-]*: \S/.test(subject));

describe("subjects of commits", () => {
  it("that break the rule are found", () => {
    const bad = [`http: ${"x".repeat(67)}`, "Fix it"];
    expect(findBadSubjects([`http: ${"x".repeat(66)}`, "trace-api, http: say why", ...bad])).toEqual(bad);
  });

  const itWithHistory = log.status === 0 ? it : it.skip; // A copy without git, or a shallow clone, has none.
  itWithHistory("name an area and have 72 characters at most", () => {
    expect(findBadSubjects(log.stdout.split("\n").filter(Boolean))).toEqual([]);
  });
});
