import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { type Receiver, startReceiver } from "../system/receiver.js";
import { auditMessages, auditRows } from "./audit.js";
import { makeTenant, type Tenant } from "./tenant.js";

const database = useDatabase();
const uuid = createUuidV7();
let receiver: Receiver;
let tenants = 0;

let close: () => unknown;

beforeAll(async () => {
  receiver = await startReceiver((step) => {
    close = step;
  });
});
afterAll(async () => void (await close()));

function newTenant(): Promise<Tenant> {
  const url = () => "http://127.0.0.1";
  return makeTenant({ pool: database.pool, url, receiver }, `tenant-${++tenants}`);
}

/** Stores a trace as the service would; the month counts it. */
async function store({ accountId }: Tenant, name: string, status = "running"): Promise<string> {
  const id = uuid();
  await database.pool.query(
    "INSERT INTO trace (account_id, id, agent_id, name, status, started_at) VALUES ($1, $2, 'agent', $3, $4, now())",
    [accountId, id, name, status],
  );
  await database.pool.query(
    `INSERT INTO trace_usage VALUES ($1, date_trunc('month', now()), 1)
      ON CONFLICT (account_id, month) DO UPDATE SET traces = trace_usage.traces + 1`,
    [accountId],
  );
  return id;
}

function acknowledge({ ledger }: Tenant, status = "running") {
  const { name, entry } = ledger.openTrace();
  return { name, entry: Object.assign(entry, { isAcknowledged: true, status }) };
}

async function storeAlert({ accountId }: Tenant, traceId: string): Promise<string> {
  const id = uuid();
  const values = [accountId, id, traceId];
  await database.pool.query(
    "INSERT INTO alert (account_id, id, trace_id, status) VALUES ($1, $2, $3, 'error')",
    values,
  );
  return id;
}

const audit = (tenant: Tenant) => auditRows(database.pool, tenant);

describe("the audit of rows", () => {
  it("finds nothing where each acknowledged write is stored once", async () => {
    const tenant = await newTenant();
    await store(tenant, acknowledge(tenant).name);
    tenant.ledger.openTrace();
    tenant.ledger.openEvent();
    expect(await audit(tenant)).toEqual({ lost: [], doubled: [] });
  });

  it("finds a lost trace, span, status, alert and event", async () => {
    const tenant = await newTenant();
    acknowledge(tenant);
    const failed = acknowledge(tenant, "error");
    Object.assign(failed.entry, { hasFailed: true, spans: ["first"] });
    await store(tenant, failed.name, "running");
    tenant.ledger.openEvent().entry.acknowledged++;
    expect(await audit(tenant)).toEqual({
      lost: [
        "trace 1 was acknowledged and is not stored",
        "the span first of trace 2 is not stored",
        "trace 2 is running, acknowledged error",
        "trace 2 failed without an alert",
        "events of /page-1: 1 sent, 1 acknowledged, 0 stored",
      ],
      doubled: [],
    });
  });

  it("finds a trace stored twice, one that nobody sent, and an alert too many", async () => {
    const tenant = await newTenant();
    const { name } = acknowledge(tenant);
    await storeAlert(tenant, await store(tenant, name));
    await store(tenant, name);
    await store(tenant, "other");
    const { lost, doubled } = await audit(tenant);
    expect(lost).toEqual([]);
    expect(doubled).toEqual([`${name} is stored twice`, "other is stored, and nobody sent it"]);
  });

  it("finds a counter below the rows as lost, and one above them as doubled", async () => {
    const tenant = await newTenant();
    await store(tenant, acknowledge(tenant).name);
    const count = (change: number) =>
      database.pool.query("UPDATE trace_usage SET traces = traces + $2 WHERE account_id = $1", [
        tenant.accountId,
        change,
      ]);
    await count(-1);
    expect((await audit(tenant)).lost).toEqual(["trace_usage counts 0, and 1 are stored"]);
    await count(2);
    expect((await audit(tenant)).doubled).toEqual(["trace_usage counts 2, and 1 are stored"]);
  });
});

describe("the audit of messages", () => {
  const mail = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${receiver.url}/emails`, { method: "POST", body, headers });

  it("finds an alert whose mail or webhook was not accepted", async () => {
    const tenant = await newTenant();
    const id = await storeAlert(tenant, uuid());
    await mail("{}", { "Idempotency-Key": id });
    const { lost } = await auditMessages(database.pool, [tenant], receiver);
    expect(lost).toEqual([[`the webhook of alert ${id} was not accepted`]]);
  });

  it("finds messages without an id and for no alert, and honours ids", async () => {
    const tenant = await newTenant();
    const id = await storeAlert(tenant, uuid());
    const repeat = () => mail("{}", { "Idempotency-Key": id });
    expect([(await repeat()).status, (await repeat()).status]).toEqual([200, 200]);
    expect((await mail("other", { "Idempotency-Key": id })).status).toBe(409);
    await mail("{}");
    await mail("{}");
    await mail("{}", { "Idempotency-Key": "unknown" });
    const { strays } = await auditMessages(database.pool, [tenant], receiver);
    expect(strays).toContain("2 messages were accepted without an id");
    expect(strays).toContain("a message was accepted with the id unknown of no alert");
    expect(receiver.accepted.get(id)).toBe(1);
  });
});
