import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { amount, built } from "@waymark/testing";
import { withoutRateLimits } from "../system/start-service.js";
import { processNames, type System, startSystem, waitUntilReady } from "../system/start-system.js";
import { runFuzz } from "./run-fuzz.js";

let system: System;
beforeAll(async () => {
  built(new URL("../../dist/", import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), "waymark-fuzz-"));
  system = await startSystem({ folder, env: withoutRateLimits, say: () => undefined });
});
afterAll(async () => {
  await system.stop();
  await rm(system.folder, { recursive: true, force: true });
});

describe("the system", () => {
  it("is ready in all its processes, and starts a killed one again", async () => {
    expect(Object.keys(system.apps)).toEqual(processNames);
    const { pid } = system.apps["trace-api"].identity;
    process.kill(pid, "SIGKILL");
    while (system.apps["trace-api"].identity.pid === pid) await new Promise((resolve) => setImmediate(resolve));
    await waitUntilReady(system.metricsUrl("trace-api"));
    const { rows } = await system.pool.query("SELECT count(*)::int AS n FROM account");
    expect(rows).toEqual([{ n: 0 }]);
  });

  it("loses its stores by the wire, and finds them again", async () => {
    system.postgresWire.refuse(true);
    system.postgresWire.cut();
    const readyOf = async () => (await fetch(`${system.metricsUrl("trace-api")}/ready`)).status;
    while ((await readyOf()) === 200) await new Promise((resolve) => setImmediate(resolve));
    system.postgresWire.refuse(false);
    await Promise.all(processNames.map((name) => waitUntilReady(system.metricsUrl(name))));
    expect(await readyOf()).toBe(200);
  });
});

it("answers random and hostile requests as the documents say, and stays up", async () => {
  const requests = amount(500, 3_000);
  const result = await runFuzz(system, { requests, seed: 1, only: undefined, say: () => undefined });
  expect(result.failures).toEqual([]);
  expect(result.requests).toBeGreaterThanOrEqual(requests);
  expect(result.counts.size).toBeGreaterThan(100);
});
