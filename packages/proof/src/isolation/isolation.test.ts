import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { amount, built } from "@waymark/testing";
import { type System, startSystem } from "../system/start-system.js";
import { type MessageReceiver, startMessageReceiver } from "./receiver.js";
import { isolationSettings, runIsolation } from "./run-isolation.js";

let system: System;
let receiver: MessageReceiver;
beforeAll(async () => {
  built(new URL("../../dist/", import.meta.url));
  receiver = await startMessageReceiver();
  const folder = await mkdtemp(join(tmpdir(), "waymark-isolation-"));
  system = await startSystem({ folder, env: isolationSettings(receiver.url), say: () => undefined });
});
afterAll(async () => {
  await system.stop();
  await receiver.close();
  await rm(system.folder, { recursive: true, force: true });
});

it("shows nobody another's data through every route", async () => {
  const operations = amount(300, 2_000);
  const result = await runIsolation(system, { operations, seed: 1, receiver, say: () => undefined });
  expect(result.failures).toEqual([]);
  expect(result.foreign).toBeGreaterThan(operations / 20);
  expect(result.events).toBeGreaterThan(operations / 200);
  expect(result.messages).toBeGreaterThan(0);
});
