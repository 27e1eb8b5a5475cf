import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { built } from "@waymark/testing";
import { processNames, type System, startSystem, waitUntilReady } from "./start-system.js";

describe("the system", () => {
  let system: System;
  beforeAll(async () => {
    built(new URL("../../dist/", import.meta.url));
    system = await startSystem({ folder: await mkdtemp(join(tmpdir(), "waymark-proof-")), say: () => undefined });
  });
  afterAll(async () => {
    await system.stop();
    await rm(system.folder, { recursive: true, force: true });
  });

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
    await waitUntilReady(system.metricsUrl("trace-api"));
    expect(await readyOf()).toBe(200);
  });
});
