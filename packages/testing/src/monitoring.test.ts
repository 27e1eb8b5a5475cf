import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { describeWithProgram } from "./programs.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const folder = `${root}docker/monitoring`;
const read = (name: string) => readFileSync(`${folder}/${name}`, "utf8");

const expressions = {
  "rules.yml": [...read("rules.yml").matchAll(/expr: (?:>-\n)?((?:.|\n {10})*)/g)].map((match) => match[1] ?? ""),
  "grafana.json": (JSON.parse(read("grafana.json")) as { panels: { targets: { expr: string }[] }[] }).panels.flatMap(
    ({ targets }) => targets.map(({ expr }) => expr),
  ),
};

describe.each(Object.entries(expressions))("docker/monitoring/%s", (_file, exprs) => {
  it("reads metrics of Waymark under their names", () => {
    const sources = execFileSync(
      "git",
      ["grep", "-hoE", '"waymark_[a-z_]+"', "--", "apps/**/*.ts", "packages/**/*.ts"],
      {
        cwd: root,
        encoding: "utf8",
      },
    );
    const named = new Set(sources.split("\n").map((it) => it.slice(1, -1)));
    const used = exprs.flatMap((expr) => expr.match(/waymark_[a-z_]+/g) ?? []);
    expect(used.length).toBeGreaterThan(5);
    const isKnown = (it: string) => named.has(it) || named.has(it.replace(/_(bucket|sum|count)$/, ""));
    expect(used.filter((it) => !isKnown(it))).toEqual([]);
  });
});

describeWithProgram("promtool", "Prometheus", (promtool) => {
  it("takes its configuration, and fires each rule as its cases say", () => {
    const run = (...args: string[]) => execFileSync(promtool, args, { cwd: folder, encoding: "utf8", stdio: "pipe" });
    expect(run("check", "config", "prometheus.yml")).toMatch(/22 rules found/);
    expect(run("test", "rules", "rules.test.yml")).toMatch(/SUCCESS/);
  });
});
