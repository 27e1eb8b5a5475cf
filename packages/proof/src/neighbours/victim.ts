import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import type { ServiceProcess } from "../src/service.fixture.js";
import { attackConnections, attacks, type Target } from "./attacks.js";
import { memoryOf } from "./cpu.js";
import { type BenchAccount, requestsOf } from "./scenario.js";

/** Requests per second of the measured account, by kind, sent whether or not earlier ones are answered. */
const kinds = ["create", "span", "finalize", "read"] as const;
const perSecond = 20;
/** A later answer counts as none. */
const patienceMs = 30_000;
/** The goal for a small request beside the worst neighbour. */
const goalP99Ms = 250;
/** The attack runs this long before the measurement. */
const leadSeconds = 2;

interface Outcome {
  attack: string;
  sent: number;
  failed: Record<string, number>;
  p50Ms: Record<string, number>;
  p99Ms: Record<string, number>;
  highestMemoryBytes: number;
  attacker: Record<string, number>;
}

export interface NeighboursOptions {
  pool: pg.Pool;
  /** The attacker and the measured account. */
  accounts: readonly BenchAccount[];
  seconds: number;
  /** A single attack; default all. */
  only?: string | undefined;
  /** Starts the service anew, so each attack's memory is its own. */
  start(): Promise<ServiceProcess>;
}

/**
 * Measures an account's small requests alone, and beside another account's attacks over 64 connections.
 * @returns the report: a row for each attack
 */
export async function measureNeighbours(options: NeighboursOptions): Promise<string> {
  const { pool, accounts, only } = options;
  const [attacker, victim] = accounts as [BenchAccount, BenchAccount];
  await pool.query(
    "INSERT INTO trace_usage SELECT id, date_trunc('month', now() AT TIME ZONE 'UTC'), -1000000000 FROM account",
  );
  const heavyTrace = await makeHeavyTrace(pool, attacker);
  const names = Object.keys(attacks).filter((name) => only === undefined || name.includes(only));
  const outcomes: Outcome[] = [];
  for (const name of ["(no neighbour)", ...names]) {
    const service = await options.start();
    const target = { port: service.port, key: attacker.key, trace: attacker.traces[1] ?? "", heavyTrace };
    outcomes.push(await measureBeside(name, target, service, victim, options.seconds));
    await service.end("SIGKILL");
    process.stderr.write(`${name}: done\n`);
  }
  return format(outcomes);
}

/** Five spans of 4 MiB each, sent as some kilobytes: they compress well. */
async function makeHeavyTrace(pool: pg.Pool, { id, traces }: BenchAccount): Promise<string> {
  const trace = traces[2] ?? "";
  await pool.query(
    `INSERT INTO span (account_id, trace_id, id, name, status, started_at, input)
     SELECT $1, $2, gen_random_uuid(), 'large', 'ok', now(), to_json(repeat('x', 4 * 1024 * 1024 - 2)) FROM generate_series(1, 5)`,
    [id, trace],
  );
  return trace;
}

async function measureBeside(
  attack: string,
  target: Target,
  service: ServiceProcess,
  victim: BenchAccount,
  seconds: number,
): Promise<Outcome> {
  await drive(service.port, victim, 1);
  const child = attack in attacks ? fork(fileURLToPath(new URL("attacker.js", import.meta.url))) : undefined;
  child?.send({ name: attack, target });
  if (child) await new Promise((resolve) => setTimeout(resolve, leadSeconds * 1_000));
  const seen = await drive(service.port, victim, seconds);
  const { highest } = memoryOf(service.pid);
  child?.send("stop");
  const [attacker] = child ? ((await once(child, "message")) as [Record<string, number>]) : [{}];
  return { attack, ...seen, highestMemoryBytes: highest, attacker };
}

/** Sends requests at fixed times, so a slow answer does not hide the delay of the next. */
async function drive(port: number, victim: BenchAccount, seconds: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const durations: Record<string, number[]> = Object.fromEntries(kinds.map((kind) => [kind, []]));
  const failed: Record<string, number> = {};
  const open: Promise<void>[] = [];
  for (const kind of kinds) {
    const requests = requestsOf(kind, [victim], 0, 4);
    for (let n = 0; n < seconds * perSecond; n++) {
      const dueMs = (n * 1_000) / perSecond + kinds.indexOf(kind) * (1_000 / perSecond / kinds.length);
      open.push(
        new Promise((resolve) => setTimeout(resolve, dueMs)).then(async () => {
          const startedAt = performance.now();
          const how = await send(agent, port, requests[n % requests.length]).catch(
            (error: NodeJS.ErrnoException) => error.code ?? error.message,
          );
          durations[kind]?.push(performance.now() - startedAt);
          if (typeof how === "number" && how < 300) return;
          failed[`${kind} ${how}`] = (failed[`${kind} ${how}`] ?? 0) + 1;
        }),
      );
    }
  }
  await Promise.all(open);
  agent.destroy();
  const percentile = (share: number) =>
    Object.fromEntries(
      Object.entries(durations).map(([kind, all]) => {
        const sorted = all.toSorted((a, b) => a - b);
        return [kind, sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0];
      }),
    );
  return { sent: open.length, failed, p50Ms: percentile(0.5), p99Ms: percentile(0.99) };
}

function send(agent: Agent, port: number, each: ReturnType<typeof requestsOf>[number] | undefined): Promise<number> {
  if (!each) throw new Error("There is nothing to send");
  return new Promise((resolve, reject) => {
    const { method, path, headers, body } = each;
    const sent = request({ host: "127.0.0.1", port, agent, method, path, headers, timeout: patienceMs }, (answer) => {
      answer.resume();
      answer.once("end", () => resolve(answer.statusCode ?? 0));
      answer.once("error", reject);
    });
    sent.once("timeout", () => sent.destroy(new Error("timeout")));
    sent.once("error", reject);
    sent.end(typeof body === "function" ? body() : body);
  });
}

function format(outcomes: readonly Outcome[]): string {
  const lines = [
    `An account's create, span, PATCH and read of 50 spans, ${perSecond} a second each, beside another account on ${attackConnections} connections`,
    "",
    `| neighbour | requests | failed | p50 ms (${kinds.join(", ")}) | p99 ms | highest memory | what the neighbour was answered |`,
    "| --- | --- | --- | --- | --- | --- | --- |",
  ];
  for (const { attack, sent, failed, p50Ms, p99Ms, highestMemoryBytes, attacker } of outcomes) {
    const list = (values: Record<string, number>) => kinds.map((kind) => values[kind]?.toFixed(0)).join(", ");
    const counts = (values: Record<string, number>) =>
      Object.entries(values)
        .map(([what, count]) => `${what}: ${count}`)
        .join(", ") || "none";
    const memory = `${(highestMemoryBytes / 1_048_576).toFixed(0)} MiB`;
    lines.push(
      `| ${attack} | ${sent} | ${counts(failed)} | ${list(p50Ms)} | ${list(p99Ms)} | ${memory} | ${counts(attacker)} |`,
    );
  }
  const isMet = outcomes.every(
    ({ failed, p99Ms }) => Object.keys(failed).length === 0 && Object.values(p99Ms).every((ms) => ms < goalP99Ms),
  );
  lines.push("", `Goal: none failed, p99 under ${goalP99Ms} ms: ${isMet ? "reached" : "NOT reached"}`, "");
  return lines.join("\n");
}
