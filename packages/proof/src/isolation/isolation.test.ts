import { expect, it } from "@jest/globals";
import { amount } from "@waymark/testing";
import { useSystem } from "../system/system.fixture.js";
import { isolationSettings, runIsolation } from "./run-isolation.js";

const system = useSystem(isolationSettings);

it("shows nobody another's data through every route", async () => {
  const operations = amount(300, 2_000);
  const result = await runIsolation(system(), { operations, seed: 1, say: () => undefined });
  expect(result.failures).toEqual([]);
  expect(result.foreign).toBeGreaterThan(operations / 20);
  expect(result.events).toBeGreaterThan(operations / 200);
  expect(result.messages).toBeGreaterThan(0);
});
