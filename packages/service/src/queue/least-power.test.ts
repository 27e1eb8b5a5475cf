import { beforeAll, describe, expect, it } from "@jest/globals";
import { byRole, grantRoles, roleUrl } from "@waymark/database";
import { useDatabase, useRolePrefix } from "@waymark/testing";
import pg from "pg";
import { createTestLog, forgetJobs, makePayload, twoKinds, until } from "./queue.fixture.js";
import { createQueue, createWorker, QueueUnavailableError } from "./queue.js";
import { migrateQueues, queues } from "./queues.js";

const database = useDatabase();
const prefix = useRolePrefix();
const passwords = byRole((role) => `password-of-${role}`);
const urlOf = (role: keyof typeof passwords) => roleUrl(database.directUrl, role, passwords[role], prefix);

beforeAll(() => grantRoles(database.directUrl, passwords, prefix));

describe("the queue in Postgres, for roles that may make no tables", () => {
  it("is not there until the migration made it, and then carries jobs from one role to the other", async () => {
    await forgetJobs(database.pool);
    const { log, lines } = createTestLog();
    const early = createQueue(queues.traceFinalized, { databaseUrl: urlOf("trace_api"), log });
    await expect(early.add([makePayload()])).rejects.toThrow(QueueUnavailableError);
    await early.close();
    await migrateQueues(database.directUrl, twoKinds);
    await Promise.all([migrateQueues(database.directUrl), migrateQueues(database.directUrl)]);
    await grantRoles(database.directUrl, passwords, prefix);

    const done: string[] = [];
    const queue = createQueue(queues.traceFinalized, { databaseUrl: urlOf("trace_api"), log });
    const worker = createWorker(queues.traceFinalized, {
      databaseUrl: urlOf("worker"),
      log,
      concurrency: 2,
      handler: async ({ alertId }) => {
        done.push(alertId);
        return "done";
      },
    });
    const payloads = [makePayload(), makePayload(), makePayload()];
    await queue.add(payloads);
    await until(() => done.length === payloads.length);
    expect(done.sort()).toEqual(payloads.map(({ alertId }) => alertId).sort());
    await Promise.all([worker.close(1_000), queue.close()]);

    const second = createQueue(twoKinds.siteImported, { databaseUrl: urlOf("trace_api"), log });
    await second.add([{ siteId: payloads[0]?.accountId ?? "", day: "2026-01-31" }]);
    await second.close();
    expect(lines.filter((line) => /permission/.test(line))).toEqual([]);
  });

  it("stays closed to the other services", async () => {
    for (const role of ["analytics_api", "collector"] as const) {
      const client = new pg.Client({ connectionString: urlOf(role) });
      await client.connect();
      await expect(client.query("SELECT FROM bullmq.job")).rejects.toThrow("permission denied for schema bullmq");
      await expect(client.query("CREATE TEMP TABLE mine (id int)")).rejects.toThrow("permission denied");
      await client.end();
    }
  });
});
