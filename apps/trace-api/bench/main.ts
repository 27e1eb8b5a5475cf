import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { createPool, migrate } from "@waymark/database";
import { startEmbeddedPostgres } from "@waymark/local";
import { readOptions } from "@waymark/local/program-options";
import { type ServiceOptions, type ServiceProcess, startService as startDeployed } from "../src/service.fixture.js";
import { spansPerRequest } from "./bulk-bodies.js";
import { type Measurement, measure, type Stage, type Subject } from "./measure.js";
import { formatMeasurements, formatRatios } from "./report.js";
import { bulkOperations, isBulk, makeAccounts, type Operation, operations } from "./scenario.js";

const options = readOptions(
  "pnpm bench traces",
  "Drives the trace API on a Postgres of its own, beside Express apps that do nothing.",
  {
    seconds: { takes: "NUMBER", default: 4, what: "of a run" },
    rounds: { takes: "NUMBER", default: 3, what: "of which the median counts" },
    save: { what: "keeps the report in apps/trace-api/bench/results" },
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

const folder = fileURLToPath(new URL(".", import.meta.url));
const entries = {
  ours: join(folder, "../../../dist/main.js"),
  null: join(folder, "null-app.js"),
};
const benchPool = { maxConnections: 2, applicationName: "bench", statementTimeoutMs: 0 };
const mostAccounts = 100;
const defaultAccounts = 10;
const defaultConnections = 64;
/** Exporters send one batch at a time: few of them keep a service busy. */
const bulkConnections = 8;
/** Rounds before those that count: V8 compiles much of a service after thousands of requests only. */
const warmUpRounds = 4;

const started: ServiceProcess[] = [];

await withDatabase(async (databaseUrl, stage) => {
  const { only, against } = options;
  if (against) return compareBuilds(stage, databaseUrl, against, chosenOperations(only));
  const subjects = await startServers(stage, databaseUrl);
  if (only) print(format(await measureAll(stage, plansOf(chosenOperations(only), subjects))));
  else await compareServers(stage, subjects);
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

/** Runs on a fresh embedded Postgres with the settings of `pnpm start` and more connections. */
async function withDatabase(run: (databaseUrl: string, stage: Stage) => Promise<void>): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "waymark-bench-"));
  const postgres = await startEmbeddedPostgres({ folder: join(home, "postgres") });
  const { connectionString } = postgres;
  const pool = createPool({ connectionString, ...benchPool });
  try {
    await migrate(connectionString);
    const [pid] = (await readFile(join(home, "postgres/data/postmaster.pid"), "utf8")).split("\n");
    const accounts = await makeAccounts(pool, mostAccounts);
    await run(connectionString, { pool, postmasterPid: Number(pid), seconds: options.seconds, accounts });
  } finally {
    await Promise.all(started.map((service) => service.end("SIGTERM")));
    await pool.end();
    await postgres.stop();
    await rm(home, { recursive: true, force: true });
  }
}

/** Without a rate limit: a bench drives one key as fast as possible. */
function startService(given: ServiceOptions): Promise<ServiceProcess> {
  return startDeployed({ ...given, env: { TRACE_RATE_LIMIT_PER_SECOND: "0", ...given.env } });
}

async function start(name: string, given: ServiceOptions): Promise<Subject> {
  const service = await startService(given);
  started.push(service);
  return { name, process: service };
}

/** Starts both empty apps and the service. */
async function startServers(stage: Stage, databaseUrl: string): Promise<Subject[]> {
  const empty = [
    await start("express-null", { databaseUrl, entry: entries.null }),
    await start("express-best", { databaseUrl, entry: entries.null, args: ["--classes"] }),
  ];
  const ours = await start("ours", { databaseUrl, entry: entries.ours });
  await fillMemory(stage, empty, ours);
  return [...empty, ours];
}

/** Lets empty apps answer the same bytes as ours, from memory. */
async function fillMemory(stage: Stage, empty: readonly Subject[], ours: Subject): Promise<void> {
  const account = stage.accounts[0];
  const headers = { Authorization: `Bearer ${account?.key}` };
  const path = `/api/v1/traces/${account?.traces[0]}`;
  const answer = await fetch(`http://127.0.0.1:${ours.process.port}${path}`, { headers });
  const put = { method: "PUT", body: await answer.text() };
  for (const { process } of empty) await fetch(`http://127.0.0.1:${process.port}/memory`, put);
}

type Plan = { subject: Subject; load: Parameters<typeof measure>[2]; stage?: Stage };

/** Each operation on each server that can take it, with more of its load where given. */
function plansOf(chosen: readonly Operation[], subjects: readonly Subject[], load: Partial<Plan["load"]> = {}): Plan[] {
  return chosen.flatMap((operation) => {
    // `express-best` counts no OTLP.
    const able = subjects.filter(({ name }) => !(name === "express-best" && operation.startsWith("otlp")));
    const connections = isBulk(operation) ? bulkConnections : defaultConnections;
    return able.map((subject) => ({ subject, load: { operation, connections, accounts: defaultAccounts, ...load } }));
  });
}

async function compareServers(stage: Stage, subjects: readonly Subject[]): Promise<void> {
  const plain = subjects.filter(({ name }) => name !== "express-best");
  const ours = subjects.filter(({ name }) => name === "ours");
  const creates = (able: readonly Subject[], load: Partial<Plan["load"]>) => plansOf(["create"], able, load);
  const connections = [1, 8, 64, 256].flatMap((count) => creates(plain, { connections: count }));
  const accounts = [1, 10, 100].flatMap((count) => creates(ours, { accounts: count }));
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), Node ${process.versions.node}`;
  const day = new Date().toISOString().slice(0, 10);
  const report = [
    `${machine}, ${day}; runs of ${stage.seconds} s, the median of ${options.rounds}\n`,
    format(await measureAll(stage, plansOf(operations, subjects))),
    `Requests of ${spansPerRequest} spans; figures are of spans, counted are traces\n`,
    format(await measureAll(stage, plansOf(bulkOperations, subjects))),
    "Creates, by connections\n",
    formatMeasurements(await measureAll(stage, connections)),
    "Creates, by accounts\n",
    formatMeasurements(await measureAll(stage, accounts)),
  ];
  print(report.join("\n"));
  if (options.save) await writeFile(join(folder, "../../results/traces.txt"), report.join("\n"));
}

/** Each build has a database with its own schema, on one Postgres. */
async function compareBuilds(
  stage: Stage,
  databaseUrl: string,
  other: string,
  chosen: readonly Operation[],
): Promise<void> {
  await stage.pool.query("CREATE DATABASE other");
  const otherUrl = new URL("/other", databaseUrl).href;
  const build = await importBuild(other);
  const pool = build.createPool({ connectionString: otherUrl, ...benchPool });
  try {
    await build.migrate(otherUrl);
    const otherStage = { ...stage, pool, accounts: await makeAccounts(pool, defaultAccounts, build) };
    const subjects = [
      await start("other", { databaseUrl: otherUrl, entry: other }),
      await start("ours", { databaseUrl, entry: entries.ours }),
    ];
    const plans = [1, defaultConnections].flatMap((connections) => plansOf(chosen, subjects, { connections }));
    const own = plans.map((plan) => ({ ...plan, stage: plan.subject === subjects[0] ? otherStage : stage }));
    print(format(await measureAll(stage, own)));
  } finally {
    await pool.end();
  }
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
async function measureAll(stage: Stage, plans: readonly Plan[]): Promise<Measurement[][]> {
  const runs: Measurement[][] = plans.map(() => []);
  for (let round = -warmUpRounds; round < options.rounds; round++) {
    const turns = [...plans.entries()];
    // Each run leaves work to Postgres that the next one feels.
    if (round % 2) turns.reverse();
    for (const [index, { subject, load, stage: own = stage }] of turns) {
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
