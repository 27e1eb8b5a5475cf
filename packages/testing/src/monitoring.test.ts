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

describe("docker/RUNBOOK.md", () => {
  const runbook = readFileSync(`${root}docker/RUNBOOK.md`, "utf8");
  const paragraphs = new Map(
    [...runbook.matchAll(/^### `(\w+)`\n\n((?:(?!#).*\n)+)/gm)].map(([, alert = "", text = ""]) => [alert, text]),
  );
  const alerts = [...read("rules.yml").matchAll(/- alert: (\w+)\n((?!\s*- alert).*\n)*/g)];

  it("has a paragraph for each alert, which links it, and none for another", () => {
    expect(alerts.length).toBeGreaterThan(20);
    expect([...paragraphs.keys()]).toEqual(alerts.map(([, alert]) => alert));
    const unlinked = alerts.filter(
      ([rule, alert = ""]) => !rule.includes(`runbook: "docker/RUNBOOK.md#${alert.toLowerCase()}"\n`),
    );
    expect(unlinked.map(([, alert]) => alert)).toEqual([]);
  });

  it("says what to do by a command, or where it is said", () => {
    const idle = [...paragraphs].filter(([, text]) => !/`[^`]+ [^`]+`|\]\([^)]*#|`Waymark/.test(text));
    expect(idle.map(([alert]) => alert)).toEqual([]);
  });

  it("is for alerts with a case that fires", () => {
    const cases = read("rules.test.yml");
    expect(alerts.map(([, alert]) => alert).filter((alert) => !cases.includes(`${alert}`))).toEqual([]);
  });
});

describeWithProgram("promtool", "Prometheus", (promtool) => {
  it("takes its configuration, and fires each rule as its cases say", () => {
    const run = (...args: string[]) => execFileSync(promtool, args, { cwd: folder, encoding: "utf8", stdio: "pipe" });
    expect(run("check", "config", "prometheus.yml")).toMatch(/24 rules found/);
    expect(run("test", "rules", "rules.test.yml")).toMatch(/SUCCESS/);
  });
});
