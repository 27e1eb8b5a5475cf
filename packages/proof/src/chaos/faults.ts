import { setTimeout as wait } from "node:timers/promises";
import type { Treatment } from "../system/receiver.js";
import { appFaults } from "./app-faults.js";
import { failover } from "./failover.js";
import { during, type Fault } from "./fault.js";
import { storeFaults } from "./store-faults.js";

const treatments: readonly { treatment: Treatment; what: string; isShort?: true }[] = [
  { treatment: 429, what: "answer 429 with Retry-After" },
  { treatment: 500, what: "answer 500", isShort: true },
  { treatment: "hang", what: "accept connections and never answer" },
  { treatment: "take", what: "accept messages and break the connection without an answer", isShort: true },
];

const receiverFaults: readonly Fault[] = treatments.map(({ treatment, what, ...rest }) => ({
  name: `receivers ${treatment}`,
  what: `the mail API and webhooks ${what}`,
  ...rest,
  run: (scene) => {
    const set = (each: Treatment) => Object.assign(scene.system.receiver, { treatment: each });
    return during(
      scene,
      () => set(treatment),
      () => set("accept"),
    );
  },
}));

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
