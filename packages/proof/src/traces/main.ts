import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join, resolve } from "node:path";
import { readOptions } from "@waymark/local/program-options";
import { openStage, poolOptions } from "../system/stage.js";
import { postmasterOf } from "../system/start-system.js";
import { undoing } from "../system/undo.js";
import { spansPerRequest } from "./bulk-bodies.js";
import { type Measurement, measure, type Subject, type Target } from "./measure.js";
import { formatMeasurements, formatRatios } from "./report.js";
import { bulkOperations, isBulk, makeAccounts, type Operation, operations } from "./scenario.js";

const options = readOptions(
  "pnpm bench traces",
  "Drives the trace API on a Postgres of its own, beside Express apps that do nothing.",
  {
    seconds: { takes: "NUMBER", default: 4, what: "of a run" },
    rounds: { takes: "NUMBER", default: 3, what: "of which the median counts" },
    save: { what: "keeps the report in packages/proof/results/traces.txt" },
    only: {
      takes: [...operations, ...bulkOperations, "bulk"],
      what: "one operation, or the last three, and no sweeps",
    },
    against: {
      takes: "CLONE/apps/trace-api/dist/main.js",
      what: "measures another built clone's service too, on its own schema, over 1 and 64 connections, instead of everything else",
    },
  },
);

const mostAccounts = 100;
const defaultAccounts = 10;
const defaultConnections = 64;
/** Exporters send one batch at a time: few of them keep a service busy. */
const bulkConnections = 8;
/** Rounds before those that count: V8 compiles much of a service after thousands of requests only. */
const warmUpRounds = 4;

await undoing(async (undo) => {
  const { only, against, seconds } = options;
  const stage = await openStage(undo);
  const { pool, start } = stage;
  const target: Target = {
    pool,
    postmasterPid: await postmasterOf(stage),
    seconds,
    accounts: await makeAccounts(pool, mostAccounts),
  };
  const subjectOf = async (name: string, how?: Parameters<typeof start>[1]): Promise<Subject> => {
    const { port, pid } = await start("trace-api", how);
    return { name, port, pid };
  };
  if (against) return compareBuilds(against);
  const empty = [
    await subjectOf("express-null", { idle: "express" }),
    await subjectOf("express-best", { idle: "express-classes" }),
  ];
  const ours = await subjectOf("ours");
  await fillMemory(target, empty, ours);
  const subjects = [...empty, ours];
  if (only) print(format(await measureAll(target, plansOf(chosenOperations(only), subjects))));
  else await compareServers(target, subjects);

  /** Each build has a database with its own schema, on one Postgres. */
  async function compareBuilds(entry: string): Promise<void> {
    await pool.query("CREATE DATABASE other");
    const otherUrl = new URL("/other", stage.connectionString).href;
    const build = await importBuild(entry);
    await build.migrate(otherUrl);
    const otherPool = build.createPool({ connectionString: otherUrl, ...poolOptions });
    undo(() => otherPool.end());
    const otherTarget = { ...target, pool: otherPool, accounts: await makeAccounts(otherPool, defaultAccounts, build) };
    const other = { build: resolve(entry, "../../../.."), env: { DATABASE_URL: otherUrl } };
    const subjects = [await subjectOf("other", other), await subjectOf("ours")];
    const plans = [1, defaultConnections].flatMap((connections) =>
      plansOf(chosenOperations(only), subjects, { connections }),
    );
    const own = plans.map((plan) => ({ ...plan, target: plan.subject === subjects[0] ? otherTarget : target }));
    print(format(await measureAll(target, own)));
  }
});

/** The named operations, by default all without bulk ones. */
function chosenOperations(only: string | undefined): readonly Operation[] {
  if (only === undefined) return operations;
  return [...operations, ...bulkOperations].filter((each) => (only === "bulk" ? isBulk(each) : each === only));
}

function print(text: string): void {
  process.stdout.write(`\n${text}\n`);
}

function format(runs: Measurement[][]): string {
  return `${formatMeasurements(runs)}\n${formatRatios(runs)}`;
}

/** Lets empty apps answer the same bytes as ours, from memory. */
async function fillMemory(target: Target, empty: readonly Subject[], ours: Subject): Promise<void> {
  const account = target.accounts[0];
  const headers = { Authorization: `Bearer ${account?.key}` };
  const path = `/api/v1/traces/${account?.traces[0]}`;
  const answer = await fetch(`http://127.0.0.1:${ours.port}${path}`, { headers });
  const put = { method: "PUT", body: await answer.text() };
  for (const { port } of empty) await fetch(`http://127.0.0.1:${port}/memory`, put);
}

type Plan = { subject: Subject; load: Parameters<typeof measure>[2]; target?: Target };

/** Each operation on each server that can take it, with more of its load where given. */
function plansOf(chosen: readonly Operation[], subjects: readonly Subject[], load: Partial<Plan["load"]> = {}): Plan[] {
  return chosen.flatMap((operation) => {
    // `express-best` counts no OTLP.
    const able = subjects.filter(({ name }) => !(name === "express-best" && operation.startsWith("otlp")));
    const connections = isBulk(operation) ? bulkConnections : defaultConnections;
    return able.map((subject) => ({ subject, load: { operation, connections, accounts: defaultAccounts, ...load } }));
  });
}

async function compareServers(target: Target, subjects: readonly Subject[]): Promise<void> {
  const plain = subjects.filter(({ name }) => name !== "express-best");
  const ours = subjects.filter(({ name }) => name === "ours");
  const creates = (able: readonly Subject[], load: Partial<Plan["load"]>) => plansOf(["create"], able, load);
  const connections = [1, 8, 64, 256].flatMap((count) => creates(plain, { connections: count }));
  const accounts = [1, 10, 100].flatMap((count) => creates(ours, { accounts: count }));
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), Node ${process.versions.node}`;
  const day = new Date().toISOString().slice(0, 10);
  const report = [
    `${machine}, ${day}; runs of ${target.seconds} s, the median of ${options.rounds}\n`,
    format(await measureAll(target, plansOf(operations, subjects))),
    `Requests of ${spansPerRequest} spans; figures are of spans, counted are traces\n`,
    format(await measureAll(target, plansOf(bulkOperations, subjects))),
    "Creates, by connections\n",
    formatMeasurements(await measureAll(target, connections)),
    "Creates, by accounts\n",
    formatMeasurements(await measureAll(target, accounts)),
  ];
  print(report.join("\n"));
  if (options.save) await writeFile(new URL("../../results/traces.txt", import.meta.url), report.join("\n"));
}

/** @param entry the `apps/trace-api/dist/main.js` of a built clone */
async function importBuild(entry: string) {
  const packages = resolve(entry, "../../../../packages");
  const accounts: typeof import("@waymark/accounts") = await import(join(packages, "accounts/dist/index.js"));
  const database: typeof import("@waymark/database") = await import(join(packages, "database/dist/index.js"));
  const prisma: typeof import("@waymark/database/prisma") = await import(join(packages, "database/dist/prisma.js"));
  return { ...database, ...accounts, ...prisma };
}

/** Measures in rounds, so a disturbance hits all servers. */
async function measureAll(target: Target, plans: readonly Plan[]): Promise<Measurement[][]> {
  const runs: Measurement[][] = plans.map(() => []);
  for (let round = -warmUpRounds; round < options.rounds; round++) {
    const turns = [...plans.entries()];
    // Each run leaves work to Postgres that the next one feels.
    if (round % 2) turns.reverse();
    for (const [index, { subject, load, target: own = target }] of turns) {
      const measurement = await measure(own, subject, load);
      if (round >= 0) runs[index]?.push(measurement);
      const { perSecond, errors } = measurement;
      process.stderr.write(
        `${load.operation} ${subject.name} ${load.connections}/${load.accounts}: ${perSecond.toFixed(0)}/s${errors > 0 ? `, ${errors} errors` : ""}\n`,
      );
    }
  }
  return runs;
}
