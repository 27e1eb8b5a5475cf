import { afterAll } from "@jest/globals";
import { createPool } from "@waymark/database";
import { useServiceRole } from "@waymark/testing";
import { dropNoise } from "@waymark/traces";
import type { TestApp } from "../app.fixture.js";

/** Drops pending traces with a root at once, others after `silentAfterMs`, with the rights of the worker. */
export function useDropNoise({ databaseUrl }: TestApp): (silentAfterMs?: number) => Promise<number> {
  const role = useServiceRole("worker", databaseUrl);
  const limits = { statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 };
  const pool = createPool({ ...role, ...limits, maxConnections: 4, applicationName: "test" });
  afterAll(() => pool.end());
  const month = `${new Date().toISOString().slice(0, 7)}-01`;
  return (silentAfterMs = 3_600_000) =>
    dropNoise(pool, { endedAfterMs: 0, silentAfterMs, month, isStopping: () => false });
}
