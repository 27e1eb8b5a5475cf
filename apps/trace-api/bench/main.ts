import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createPool, migrate } from "@waymark/database";
import { startEmbeddedPostgres } from "@waymark/local";
import type pg from "pg";
import { type ServiceOptions, type ServiceProcess, startService as startDeployed } from "../src/service.fixture.js";
import { latency } from "./latency.js";
import { type Measurement, measure, median, type Stage, type Subject } from "./measure.js";
import { formatNodes } from "./nodes.js";
import { profile } from "./profile.js";
import { formatBuildRatios, formatBulkTable, formatReport, formatTable, type Results } from "./report.js";
import { bulkOperations, makeAccounts, type Operation, operations } from "./scenario.js";
import { search } from "./search.js";

const usage = `pnpm bench traces [--seconds 4] [--rounds 3] [--save] [--only OPERATION] [--against CLONE/apps/trace-api/dist/main.js] [--profile] [--latency] [--search TRACES] [--node VERSION,VERSION]

Drives the trace API on a Postgres of its own, beside Express apps that do nothing.
  --save     keeps the report in apps/trace-api/bench/results
  --only     measures one of ${[...operations, ...bulkOperations].join(", ")}, or bulk for the last three, and no sweeps
  --against  measures another built clone's service too, on its own schema, over 1 and 64 connections, instead of everything else
  --profile  shows where the service's CPU time goes, instead of everything else
  --latency  measures one connection beside GET /health and a bare INSERT, instead of everything else
  --search   stores so many recorded runs and searches their contents, instead of everything else
  --node     measures on these versions of Node, such as 20,24,26, instead of everything else
`;

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

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: "boolean", default: false },
      seconds: { type: "string", default: "4" },
      rounds: { type: "string", default: "3" },
      save: { type: "boolean", default: false },
      only: { type: "string" },
      against: { type: "string" },
      profile: { type: "boolean", default: false },
      latency: { type: "boolean", default: false },
      search: { type: "string" },
      node: { type: "string" },
    },
  });
  const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];
  if (values.help || !(seconds > 0) || !(rounds > 0)) {
    process.stdout.write(usage);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  await withDatabase(async (databaseUrl, postmasterPid) => {
    const pool = createPool({ connectionString: databaseUrl, ...benchPool });
    try {
      await runChosen({ pool, postmasterPid, seconds }, databaseUrl, rounds, values);
    } finally {
      await pool.end();
    }
  });
}

interface Values {
  save: boolean;
  profile: boolean;
  latency: boolean;
  only?: string;
  against?: string;
  search?: string;
  node?: string;
}

async function runChosen(
  given: Omit<Stage, "accounts">,
  databaseUrl: string,
  rounds: number,
  values: Values,
): Promise<void> {
  const { pool } = given;
  const finish = (name: string, report: string) => show(name, report, values.save);
  const stage: Stage = { ...given, accounts: await makeAccounts(pool, mostAccounts) };
  if (values.latency) {
    const entry = values.against ?? entries.ours;
    return finish("latency", await latency(stage, await start("ours", { databaseUrl, entry }), databaseUrl));
  }
  if (values.search) {
    const subject = await start("ours", { databaseUrl, entry: entries.ours });
    return finish("search", await search(stage, subject, databaseUrl, Number(values.search)));
  }
  if (values.node) {
    const nodes = values.node.split(",");
    return finish("nodes", await compareNodes(stage, databaseUrl, nodes, rounds, chosen(values.only)));
  }
  if (values.profile) {
    return profile(stage, chosen(values.only), (nodeFlags) =>
      startService({ databaseUrl, entry: entries.ours, nodeFlags }),
    );
  }
  if (values.against) return compareBuilds(stage, databaseUrl, values.against, rounds, chosen(values.only));
  return compareServers(stage, databaseUrl, rounds, values);
}

/** The named operations, by default all without bulk ones. */
function chosen(only: string | undefined): readonly Operation[] {
  if (only === undefined) return operations;
  return only === "bulk"
    ? bulkOperations
    : [...operations, ...bulkOperations].filter((operation) => operation === only);
}

function isBulk(operation: Operation): boolean {
  return bulkOperations.some((each) => each === operation);
}

/** Prints a report, and keeps it where asked. */
async function show(name: string, report: string, isKept: boolean): Promise<void> {
  print(report);
  if (isKept) await writeFile(join(folder, `../../results/${name}.txt`), report);
}

function print(text: string): void {
  process.stdout.write(`\n${text}\n`);
}

/** Runs on a fresh embedded Postgres with the settings of `pnpm start` and more connections. */
async function withDatabase(run: (databaseUrl: string, postmasterPid: number) => Promise<void>): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "waymark-bench-"));
  const postgres = await startEmbeddedPostgres({ folder: join(home, "postgres") });
  try {
    await migrate(postgres.connectionString);
    const pidFile = await readFile(join(home, "postgres/data/postmaster.pid"), "utf8");
    await run(postgres.connectionString, Number(pidFile.split("\n")[0]));
  } finally {
    await Promise.all(started.map((service) => service.end("SIGTERM")));
    await postgres.stop();
    await rm(home, { recursive: true, force: true });
  }
}

const started: ServiceProcess[] = [];

/** Without a rate limit: a bench drives one key as fast as possible. */
function startService(options: ServiceOptions): Promise<ServiceProcess> {
  return startDeployed({ ...options, env: { TRACE_RATE_LIMIT_PER_SECOND: "0", ...options.env } });
}

async function start(name: string, options: Parameters<typeof startService>[0]): Promise<Subject> {
  const service = await startService(options);
  started.push(service);
  return { name, process: service };
}

async function compareServers(
  stage: Stage,
  databaseUrl: string,
  rounds: number,
  { save, only }: { save: boolean; only?: string | undefined },
): Promise<void> {
  const subjects = [
    await start("express-null", { databaseUrl, entry: entries.null }),
    await start("express-best", { databaseUrl, entry: entries.null, args: ["--classes"] }),
    await start("ours", { databaseUrl, entry: entries.ours }),
  ];
  const [yardstick, best, ours] = subjects as [Subject, Subject, Subject];
  await fillMemory(stage, [yardstick, best], ours);
  const each = { connections: defaultConnections, accounts: defaultAccounts };
  const creates = { operation: "create" as const, ...each };
  const bulk: Plan[] = chosen(only ?? "bulk").flatMap((operation) => {
    if (!isBulk(operation)) return [];
    // `express-best` counts no OTLP.
    const able = operation === "batch" ? subjects : [yardstick, ours];
    return able.map((subject) => ({ subject, load: { ...each, operation, connections: bulkConnections } }));
  });
  const servers: Plan[] = chosen(only).flatMap((operation) =>
    isBulk(operation) ? [] : subjects.map((subject) => ({ subject, load: { operation, ...each } })),
  );
  if (only) {
    if (servers.length > 0) print(formatTable((await measureAll(stage, servers, rounds)).map(median)));
    if (bulk.length > 0) print(formatBulkTable((await measureAll(stage, bulk, rounds)).map(median)));
    return;
  }
  const connections = [1, 8, 64, 256].flatMap((count) =>
    [yardstick, ours].map((subject) => ({ subject, load: { ...creates, connections: count } })),
  );
  const accounts = [1, 10, 100].map((count) => ({ subject: ours, load: { ...creates, accounts: count } }));
  const results: Results = {
    at: new Date().toISOString(),
    machine: `${cpus().length} cores (${cpus()[0]?.model.trim()}), Node ${process.versions.node}`,
    seconds: stage.seconds,
    rounds,
    servers: await measureAll(stage, servers, rounds),
    bulk: await measureAll(stage, bulk, rounds),
    connections: await measureAll(stage, connections, rounds),
    accounts: await measureAll(stage, accounts, rounds),
  };
  await show("traces", formatReport(results), save);
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

/** Measures the service and both empty apps on each Node, in the same rounds. */
async function compareNodes(
  stage: Stage,
  databaseUrl: string,
  nodes: readonly string[],
  rounds: number,
  chosenOperations: readonly Operation[],
): Promise<string> {
  const subjects: Subject[] = [];
  for (const node of nodes) {
    const version = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
    const on = (server: string, options: Partial<ServiceOptions>) =>
      start(`${server} ${version}`, { databaseUrl, node, entry: entries.null, ...options });
    const empty = [await on("express-null", {}), await on("express-best", { args: ["--classes"] })];
    const ours = await on("ours", { entry: entries.ours });
    await fillMemory(stage, empty, ours);
    subjects.push(...empty, ours);
  }
  const load = { connections: defaultConnections, accounts: defaultAccounts };
  const plans = chosenOperations.flatMap((operation) =>
    subjects.map((subject) => ({ subject, load: { operation, ...load } })),
  );
  return formatNodes(await measureAll(stage, plans, rounds));
}

/** Each build has a database with its own schema, on one Postgres. */
async function compareBuilds(
  stage: Stage,
  databaseUrl: string,
  other: string,
  rounds: number,
  chosenOperations: readonly Operation[],
): Promise<void> {
  const otherUrl = await createDatabase(stage.pool, databaseUrl, "other");
  const build = await importBuild(other);
  const pool = build.createPool({ connectionString: otherUrl, ...benchPool });
  try {
    await build.migrate(otherUrl);
    const otherStage = { ...stage, pool, accounts: await makeAccounts(pool, defaultAccounts, build) };
    const sides = [
      { subject: await start("other", { databaseUrl: otherUrl, entry: other }), stage: otherStage },
      { subject: await start("ours", { databaseUrl, entry: entries.ours }), stage },
    ];
    const plans = [1, defaultConnections].flatMap((connections) =>
      chosenOperations.flatMap((operation) =>
        sides.map((side) => ({ ...side, load: { operation, connections, accounts: defaultAccounts } })),
      ),
    );
    const runs = await measureAll(stage, plans, rounds);
    print(formatTable(runs.map(median)));
    print(formatBuildRatios(runs));
  } finally {
    await pool.end();
  }
}

async function createDatabase(pool: pg.Pool, databaseUrl: string, name: string): Promise<string> {
  await pool.query(`CREATE DATABASE ${name}`);
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** @param entry the `apps/trace-api/dist/main.js` of a built clone */
async function importBuild(entry: string) {
  const packages = resolve(entry, "../../../../packages");
  const accounts: typeof import("@waymark/accounts") = await import(join(packages, "accounts/dist/index.js"));
  const database: typeof import("@waymark/database") = await import(join(packages, "database/dist/index.js"));
  const prisma: typeof import("@waymark/database/prisma") = await import(join(packages, "database/dist/prisma.js"));
  return { ...database, ...accounts, ...prisma };
}

type Plan = { subject: Subject; load: Parameters<typeof measure>[2]; stage?: Stage };

/** Rounds before those that count: V8 compiles much of a service after thousands of requests only. */
const warmUpRounds = 4;

/** Measures in rounds, so a disturbance hits all servers. */
async function measureAll(stage: Stage, plans: readonly Plan[], rounds: number): Promise<Measurement[][]> {
  const runs: Measurement[][] = plans.map(() => []);
  for (let round = -warmUpRounds; round < rounds; round++) {
    const turns = [...plans.entries()];
    // Each run leaves work to Postgres that the next one feels.
    if (round % 2) turns.reverse();
    for (const [index, { subject, load, stage: own = stage }] of turns) {
      const measurement = await measure(own, subject, load);
      if (round >= 0) runs[index]?.push(measurement);
      process.stderr.write(
        `${load.operation} ${subject.name} ${load.connections}/${load.accounts}: ${measurement.requestsPerSecond.toFixed(0)}/s${measurement.errors > 0 ? `, ${measurement.errors} errors` : ""}\n`,
      );
    }
  }
  return runs;
}

await main();
