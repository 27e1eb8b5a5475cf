import { createPool, limitsOf, type PoolOptions, serviceTimeouts } from "@waymark/database";
import type { Service } from "@waymark/testing/test-server";

/** Options of the services' pools. Behind a pooler in transaction mode a service names each limit that its role lacks. */
const services: Record<Service, Pick<Partial<PoolOptions>, "statementTimeoutMs" | "lockTimeoutMs" | "plansOnce">> = {
  "trace-api": { plansOnce: true },
  "analytics-api": {},
  collector: { lockTimeoutMs: 5_000, plansOnce: true },
  worker: { statementTimeoutMs: 60_000, lockTimeoutMs: 5_000 },
  dashboard: {},
};

/** Makes a role for each service, with its limits and the password of the server's user. */
export async function makeServiceRoles(server: URL): Promise<void> {
  const options = { maxConnections: 1, applicationName: "waymark tests", statementTimeoutMs: 0 };
  const pool = createPool({ connectionString: server.href, ...options });
  try {
    for (const [role, own] of Object.entries(services)) {
      await pool.query(`CREATE ROLE "${role}" SUPERUSER LOGIN PASSWORD '${decodeURIComponent(server.password)}'`);
      for (const [name, value] of Object.entries(limitsOf({ ...serviceTimeouts, ...own })))
        await pool.query(`ALTER ROLE "${role}" SET ${name} = '${value}'`);
    }
  } finally {
    await pool.end();
  }
}
