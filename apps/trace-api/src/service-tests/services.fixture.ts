import { afterAll } from "@jest/globals";
import { createPool } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import { useDatabase } from "@waymark/testing";
import { type ServiceProcess, startService } from "../service.fixture.js";

/** A database, and compiled services on it that end with the test file. */
export function useServices() {
  const database = useDatabase();
  const pool = createPool({
    connectionString: database.url,
    maxConnections: 3,
    applicationName: "test",
    statementTimeoutMs: 20_000,
  });
  const running = new Set<ServiceProcess>();
  afterAll(async () => {
    await Promise.all([...running].map((service) => service.end("SIGTERM")));
    await pool.end();
  });
  async function start(env: Record<string, string> = {}): Promise<ServiceProcess> {
    const service = await startService({ databaseUrl: database.url, env });
    running.add(service);
    void service.ended.then(() => running.delete(service));
    return service;
  }
  return { pool, prisma: createPrisma(pool), start };
}
