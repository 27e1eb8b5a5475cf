import { describe, expect, it } from "@jest/globals";
import { amount } from "@waymark/testing";
import { processNames, waitUntilReady } from "../system/start-system.js";
import { useSystem } from "../system/system.fixture.js";
import { fuzzSettings, runFuzz } from "./run-fuzz.js";

const running = useSystem(fuzzSettings);

describe("the system", () => {
  it("is ready in all its processes, and starts a killed one again", async () => {
    const system = running();
    expect(Object.keys(system.apps)).toEqual(processNames);
    const { pid } = system.apps["trace-api"].identity;
    process.kill(pid, "SIGKILL");
    while (system.apps["trace-api"].identity.pid === pid) await new Promise((resolve) => setImmediate(resolve));
    await waitUntilReady(system.metricsUrl("trace-api"));
    const { rows } = await system.pool.query("SELECT count(*)::int AS n FROM account");
    expect(rows).toEqual([{ n: 0 }]);
  });

  it("loses its stores by the wire, and finds them again", async () => {
    const system = running();
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
  const result = await runFuzz(running(), { requests, seed: 1, only: undefined, say: () => undefined });
  expect(result.failures).toEqual([]);
  expect(result.requests).toBeGreaterThanOrEqual(requests);
  expect(result.counts.size).toBeGreaterThan(100);
});
