import { setTimeout as wait } from "node:timers/promises";
import { appFaults } from "./app-faults.js";
import { failover } from "./failover.js";
import type { Fault } from "./fault.js";
import { receiverFaults } from "./receiver-faults.js";
import { storeFaults } from "./store-faults.js";

const none: Fault = {
  name: "none",
  what: "nothing happens, for comparison",
  isShort: true,
  run: ({ seconds }) => wait(seconds * 1_000),
};

/** Parts of `together`, each with the next one already on its way. */
const together = [
  "receivers 500",
  "cut postgres",
  "kill worker",
  "kill redis",
  "cut clients",
  "kill trace-api",
  "clock jumps",
];

const singleFaults = [none, ...appFaults, ...receiverFaults, ...storeFaults];

/** All faults in their order. */
export const faults: readonly Fault[] = [
  ...singleFaults,
  {
    name: "together",
    what: together.join(", "),
    isShort: true,
    run: async (scene) => {
      const parts = singleFaults.filter(({ name, missing }) => together.includes(name) && !missing?.(scene));
      await Promise.all(parts.map((part, n) => wait(n * 300).then(() => part.run(scene))));
    },
  },
  failover,
];
