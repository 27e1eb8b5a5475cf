import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { amount, built } from "@waymark/testing";
import { withoutRateLimits } from "../system/start-service.js";
import { type System, startSystem } from "../system/start-system.js";
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

it("answers random and hostile requests as the documents say, and stays up", async () => {
  const requests = amount(1_000, 3_000);
  const result = await runFuzz(system, { requests, seed: 1, only: undefined, say: () => undefined });
  expect(result.failures).toEqual([]);
  expect(result.requests).toBeGreaterThanOrEqual(requests);
  expect(result.counts.size).toBeGreaterThan(100);
});
