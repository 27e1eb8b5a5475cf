import { afterAll, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { createPool } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import { useDatabase, useProcesses } from "@waymark/testing";

const database = useDatabase();
const pool = createPool({
  connectionString: database.url,
  maxConnections: 2,
  applicationName: "test",
  statementTimeoutMs: 10_000,
});
const start = useProcesses();
afterAll(() => pool.end());

it("lets a key ask 60 times a minute, over three processes", async () => {
  const { id } = await createAccount(createPrisma(pool), { email: "many@example.com", plan: "pro" });
  const { key } = await issueKey(pool, { accountId: id, service: "analytics", name: "test" });
  const { url, metricsUrl } = await start("analytics-api", database.url, { WEB_CONCURRENCY: "3" });
  const ask = async () => {
    const answer = await fetch(`${url}/api/v1/sites`, { headers: { Authorization: `Bearer ${key}` } });
    await answer.text();
    return answer.status;
  };
  const statuses = await Promise.all(Array.from({ length: 100 }, ask));
  expect(statuses.filter((status) => status === 200)).toHaveLength(60);
  expect(statuses.filter((status) => status === 429)).toHaveLength(40);
  const metrics = await (await fetch(metricsUrl)).text();
  expect(metrics).toMatch(/waymark_http_requests_total\{[^}]*status="200"[^}]*\} 60\n/);
  expect(metrics).toMatch(/waymark_http_requests_total\{[^}]*status="429"[^}]*\} 40\n/);
});
