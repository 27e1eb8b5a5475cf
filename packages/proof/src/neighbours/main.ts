import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { memoryOf } from "@waymark/local/process-usage";
import { readOptions } from "@waymark/local/program-options";
import { openStage, type Stage } from "../system/stage.js";
import { undoing } from "../system/undo.js";
import { makeAccounts } from "./accounts.js";
import { type Attack, attackConnections, attacks } from "./attacks.js";
import { drive, perSecond, smallRequests } from "./victim.js";

const purpose = `Measures an account's small requests to the trace API, the analytics API and the dashboard alone and beside another account
at its worst. Each service runs with the flags of its image.`;

const { seconds, only, before, save } = readOptions("pnpm bench neighbours", purpose, {
  seconds: { takes: "NUMBER", default: 8, what: "of small requests beside each attack" },
  only: { takes: "TEXT", what: "attacks whose service or name has this part" },
  before: { takes: "CLONE", what: "also measures another built clone, on the same data" },
  save: { what: "keeps the report in packages/proof/results/neighbours.txt" },
});

/** The goals for a small request beside the worst neighbour. */
const goalP99Ms = 250;
const goalMib = 512;
/** The attack runs this long before the measurement. */
const leadMs = 2_000;

type Outcome = Awaited<ReturnType<typeof measureBeside>>;

/** An attack by its place in the list, or none. */
type Row = Pick<Attack, "service" | "name"> & { index?: number };

const say = (line: string) => void process.stderr.write(`${line}\n`);
const chosen: Row[] = attacks
  .map(({ service, name }, index) => ({ service, name, index }))
  .filter(({ service, name }) => `${service} ${name}`.includes(only ?? ""));
const services = [...new Set(chosen.map(({ service }) => service))];
const rows = services.flatMap((service) => [
  { service, name: "(no neighbour)" },
  ...chosen.filter((attack) => attack.service === service),
]);
const builds = { ...(before && { before: resolve(before) }), now: undefined };
await undoing(async (undo) => {
  const withPageViews = services.some((service) => service !== "trace-api");
  const stage = await openStage(undo);
  const accounts = await makeAccounts(stage, { withPageViews, say });
  const outcomes: Outcome[] = [];
  for (const row of rows) {
    for (const [build, folder] of Object.entries(builds)) {
      outcomes.push(await measureBeside({ ...stage, ...accounts }, row, build, folder));
      say(`${row.service}, ${row.name}, ${build}: done`);
    }
  }
  const report = format(outcomes);
  process.stdout.write(`\n${report}`);
  if (save) await writeFile(new URL("../../results/neighbours.txt", import.meta.url), report);
});

/** Starts the service anew for each attack, so that its memory is the attack's. */
async function measureBeside(
  { start, target, victim }: Stage & Awaited<ReturnType<typeof makeAccounts>>,
  { service, name, index }: Row,
  build: string,
  folder: string | undefined,
) {
  const { port, app } = await start(service, { build: folder });
  let end: string | undefined;
  void app.ended.then((how) => {
    end = how.split("\n")[0];
  });
  await drive({ service, port }, victim, 1);
  const attacker = index === undefined ? undefined : fork(fileURLToPath(new URL("attacker.js", import.meta.url)));
  attacker?.send({ index, target: { ...target, port } });
  if (attacker) await wait(leadMs);
  const seen = await drive({ service, port }, victim, seconds);
  const highestMib = memoryOf(app.identity.pid).highest / 1_048_576;
  attacker?.send("stop");
  const [answers] = attacker ? ((await once(attacker, "message")) as [Record<string, number>]) : [{}];
  await app.stop(1_000);
  return { service, attack: name, build, ...seen, highestMib, end, answers };
}

function format(outcomes: readonly Outcome[]): string {
  const counts = (values: Record<string, number>) =>
    Object.entries(values)
      .map(([what, count]) => `${what}: ${count}`)
      .join(", ") || "none";
  const kinds = Object.entries(smallRequests).map(([service, each]) => `${service}: ${Object.keys(each).join(", ")}`);
  const lines = [
    `An account's small requests (${kinds.join("; ")}), ${perSecond} a second each, beside another account on ${attackConnections} connections or more`,
    `${cpus().length} CPUs, Node ${process.versions.node}`,
    "",
    "| service | neighbour | build | requests | failed | p50 ms | p99 ms | longest ms | highest MiB | the neighbour's answers |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
  ];
  for (const { service, attack, build, sent, failed, p50Ms, p99Ms, longestMs, highestMib, end, answers } of outcomes) {
    const times = [p50Ms, p99Ms, longestMs].map((ms) => ms.toFixed(0)).join(" | ");
    const memory = end ?? highestMib.toFixed(0);
    lines.push(
      `| ${service} | ${attack} | ${build} | ${sent} | ${counts(failed)} | ${times} | ${memory} | ${counts(answers)} |`,
    );
  }
  const isMet = outcomes
    .filter(({ build }) => build === "now")
    .every((each) => each.p99Ms < goalP99Ms && each.highestMib < goalMib && Object.keys(each.failed).length === 0);
  lines.push(
    "",
    `Goal: none failed, p99 under ${goalP99Ms} ms, under ${goalMib} MiB: ${isMet ? "reached" : "NOT reached"}`,
    "",
  );
  return lines.join("\n");
}
