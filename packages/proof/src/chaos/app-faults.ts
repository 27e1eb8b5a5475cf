import { setTimeout as wait } from "node:timers/promises";
import { type ProcessName, processNames, waitUntilReady } from "../system/start-system.js";
import { during, type Fault, freeze, type Scene, signal } from "./fault.js";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const names = processNames.filter((name) => name !== "worker-2");
const inShort: readonly ProcessName[] = ["trace-api", "collector", "worker"];

const pidsOf = ({ system }: Scene, name: ProcessName) => [system.apps[name].identity.pid];

const kills: Fault[] = names.map((name) => ({
  name: `kill ${name}`,
  what: `kill -9 of the ${name}, and again while it starts`,
  ...(inShort.includes(name) && { isShort: true }),
  run: async (scene) => {
    signal(pidsOf(scene, name), "SIGKILL");
    await wait((scene.seconds / 2) * 1_000);
    signal(pidsOf(scene, name), "SIGKILL");
  },
}));

const freezes: Fault[] = names.map((name) => ({
  name: `freeze ${name}`,
  what: `SIGSTOP of the ${name}, then SIGCONT`,
  ...(name === "worker" && { isShort: true }),
  run: (scene) => freeze(scene, () => pidsOf(scene, name)),
}));

/** Ends each app by SIGTERM in turn, and waits until the next start of it is ready. */
async function restartAll(scene: Scene): Promise<void> {
  for (const name of processNames) {
    const pids = pidsOf(scene, name);
    signal(pids, "SIGTERM");
    while (scene.system.apps[name].identity.pid === pids[0]) await wait(20);
    await waitUntilReady(scene.system.metricsUrl(name));
  }
}

const deploys: Fault[] = [
  { name: "restart all", what: "SIGTERM of each app in turn, each started again before the next", run: restartAll },
  {
    name: "deploy before",
    what: "the apps of the version before take over one by one, then the present ones again",
    missing: ({ before }) => (before ? undefined : "--before, the folder of a built clone of the version before"),
    run: async (scene) => {
      scene.system.useBuild(scene.before);
      try {
        await restartAll(scene);
      } finally {
        scene.system.useBuild();
      }
      await restartAll(scene);
    },
  },
];

/** Sets clocks for the time of a fault. */
async function withClocks(scene: Scene, aheadMs: Partial<Record<ProcessName, number>>): Promise<void> {
  const set = (name: ProcessName, ms: number) => scene.system.setClock(name, ms);
  await during(
    scene,
    () => Promise.all(processNames.map((name) => set(name, aheadMs[name] ?? 0))),
    () => Promise.all(processNames.map((name) => set(name, 0))),
  );
}

const clocks: Fault[] = [
  {
    name: "clocks apart",
    what: "the clocks of both workers and two services a minute apart",
    run: (scene) =>
      withClocks(scene, { worker: minuteMs, "worker-2": -minuteMs, "trace-api": minuteMs, collector: -minuteMs }),
  },
  {
    name: "clock jumps",
    what: "the clocks of the trace API and a worker jump an hour ahead, and back",
    isShort: true,
    run: (scene) => withClocks(scene, { "trace-api": hourMs, worker: hourMs }),
  },
  {
    name: "day turns",
    what: "the services' clocks pass midnight UTC",
    run: (scene) => turn(scene, (now) => now - (now % dayMs) + dayMs),
  },
  {
    name: "month turns",
    what: "the services' clocks pass the end of the month",
    isShort: true,
    run: (scene) => turn(scene, (now) => Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() + 1)),
  },
];

/** Sets the clocks of the services that receive writes so that the moment comes in the middle of the fault. */
async function turn(scene: Scene, momentAfter: (now: number) => number): Promise<void> {
  const aheadMs = momentAfter(Date.now()) - Date.now() - (scene.seconds / 2) * 1_000;
  await withClocks(scene, { "trace-api": aheadMs, collector: aheadMs, "analytics-api": aheadMs });
}

export const appFaults: readonly Fault[] = [...kills, ...freezes, ...deploys, ...clocks];
