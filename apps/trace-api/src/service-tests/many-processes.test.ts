import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import type { PlanId } from "@waymark/plan";
import { traceBody } from "../app.fixture.js";
import type { ServiceProcess } from "../service.fixture.js";
import { useServices } from "./services.fixture.js";

const processes = 3;
const { pool, prisma, start: startOne } = useServices();
let accounts = 0;

const start = (env: Record<string, string> = {}) =>
  startOne({ WEB_CONCURRENCY: String(processes), LOG_LEVEL: "info", ...env });

async function makeAccount(plan: PlanId) {
  const account = await createAccount(prisma, { email: `many-${++accounts}@example.com`, plan });
  const { key } = await issueKey(pool, { accountId: account.id, service: "trace", name: "test" });
  return { id: account.id, key };
}

type Account = Awaited<ReturnType<typeof makeAccount>>;

/** Undefined if the connection broke. */
async function create({ port }: ServiceProcess, { key }: Account, headers: Record<string, string> = {}) {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/traces`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
      body: JSON.stringify(traceBody()),
    });
    return { status: answer.status, id: ((await answer.json()) as { trace_id?: string }).trace_id };
  } catch {
    return undefined;
  }
}

const times = <T>(count: number, make: () => Promise<T>) => Promise.all(Array.from({ length: count }, make));

/** The processes that take requests. */
function membersOf({ pid }: ServiceProcess): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

async function metric({ metricsPort }: ServiceProcess, name: string): Promise<number[]> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return text.split("\n").flatMap((line) => (line.startsWith(name) ? [Number(line.split(" ").at(-1))] : []));
}

async function countTraces(accountId: string): Promise<number> {
  const { rows } = await pool.query("SELECT count(*)::int AS n FROM trace WHERE account_id = $1", [accountId]);
  return rows[0].n;
}

describe("the trace service in three processes", () => {
  let service: ServiceProcess;
  beforeAll(async () => {
    service = await start();
  });

  it("keeps the month's limit exactly, over one port, within the connections of one, and adds up its metrics", async () => {
    expect(membersOf(service)).toHaveLength(processes);
    const account = await makeAccount("free");
    expect((await create(service, account))?.status).toBe(201);
    await pool.query("UPDATE trace_usage SET traces = 900 WHERE account_id = $1", [account.id]);
    const statuses = (await times(200, () => create(service, account))).map((answer) => answer?.status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(100);
    expect(statuses.filter((status) => status === 429)).toHaveLength(100);
    expect(await countTraces(account.id)).toBe(101);
    expect(await metric(service, 'waymark_accepted_total{kind="trace"')).toEqual([101]);
    const { rows } = await pool.query(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name LIKE 'waymark trace-api %' AND datname = current_database()",
    );
    expect(rows[0].n).toBeGreaterThanOrEqual(processes);
    expect(rows[0].n).toBeLessThanOrEqual(10);
    const ready = await fetch(`http://127.0.0.1:${service.metricsPort}/ready`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { status: "ok", checks: { database: "ok", queue: "ok" } },
    ]);
  });

  it("stores a retried request once, whichever process gets it", async () => {
    const account = await makeAccount("pro");
    const ids = new Set<string | undefined>();
    const again = async () => {
      for (;;) {
        const answer = await create(service, account, { "Idempotency-Key": "the same" });
        if (answer?.status === 201) return ids.add(answer.id);
        expect(answer?.status).toBe(409);
        await setTimeout(10);
      }
    };
    await times(40, again);
    expect(ids.size).toBe(1);
    expect(await countTraces(account.id)).toBe(1);
  });

  it("loses no acknowledged write to kill -9 of one process: the others go on, and another one takes its place", async () => {
    const account = await makeAccount("pro");
    const acknowledged: (string | undefined)[] = [];
    const [first = 0, ...others] = membersOf(service);
    let isKilled = false;
    let later = 0;
    const agent = async () => {
      while (later < 300) {
        const answer = await create(service, account);
        if (answer) expect(answer.status).toBe(201);
        if (answer && isKilled) later++;
        if (answer && acknowledged.push(answer.id) === 200) {
          await metric(service, "waymark_accepted_total");
          isKilled = true;
          process.kill(first, "SIGKILL");
        }
      }
    };
    await times(32, agent);
    const { rows } = await pool.query("SELECT count(*)::int AS n FROM trace WHERE id = ANY($1)", [acknowledged]);
    expect(rows[0].n).toBe(acknowledged.length);
    while (membersOf(service).length < processes) await setTimeout(20);
    expect(membersOf(service)).toEqual(expect.arrayContaining(others));
    expect(membersOf(service)).not.toContain(first);
    expect(await metric(service, "waymark_process_ends_total")).toEqual([1]);
    // Counts of the ended process stay: 200 were known before its end.
    const [accepted = 0] = await metric(service, 'waymark_accepted_total{kind="trace"');
    expect(accepted).toBeGreaterThanOrEqual(200);
  });

  it("answers all that it stores after SIGTERM, then ends all processes with 0", async () => {
    const account = await makeAccount("pro");
    const members = membersOf(service);
    let acknowledged = 0;
    const agent = async () => {
      for (;;) {
        const answer = await create(service, account);
        if (!answer) return;
        expect(answer.status).toBe(201);
        if (++acknowledged === 100) void service.end("SIGTERM");
      }
    };
    await times(32, agent);
    expect(await service.ended).toBe(0);
    // A request cut off would be stored without an answer.
    expect(await countTraces(account.id)).toBe(acknowledged);
    for (const pid of members) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });
});

describe("a failure at the start of three processes", () => {
  it("ends the primary with the first one's error, once", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const address = taken.address();
    const port = typeof address === "object" ? String(address?.port) : "";
    await expect(start({ TRACE_API_PORT: port })).rejects.toThrow("The service ended before it listened: 1");
    await expect(start({ DATABASE_POOL_SIZE: "2" })).rejects.toThrow("The service ended before it listened: 2");
    taken.close();
  });
});
