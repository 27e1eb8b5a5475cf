import { afterAll, beforeAll } from "@jest/globals";
import { built } from "@waymark/testing";
import { type System, startSystem } from "./start-system.js";

/** The built system of a test file, from its first test to its last. */
export function useSystem(env: NodeJS.ProcessEnv): () => System {
  const steps: (() => unknown)[] = [];
  let system: System;
  beforeAll(async () => {
    built(new URL("../../dist/", import.meta.url));
    system = await startSystem({ env }, (step) => void steps.push(step));
  });
  afterAll(async () => {
    for (const step of steps.reverse()) await step();
  });
  return () => system;
}
