import { join } from "node:path";
import { createPool } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import { type DemoAccounts, type DemoState, prepareAccounts, readDemoState, writeDemoState } from "./demo-accounts.js";
import { loadVisits, sendTraces, type visitFiles } from "./demo-data.js";

/** The demo of a local system. */
export interface Demo {
  readonly accounts: DemoAccounts;
  /** Sends the demo's traces to the trace service unless an earlier start did. */
  sendTraces(baseUrl: string): Promise<void>;
}

/** Makes the demo's accounts, keys, sites and visits, except those of an earlier start. */
export async function loadDemo(options: { databaseUrl: string; dataFolder: string; now: Date }): Promise<Demo> {
  const file = join(options.dataFolder, "demo.json");
  const state = await readDemoState(file, options.now);
  const pool = createPool({
    connectionString: options.databaseUrl,
    maxConnections: 3,
    applicationName: "waymark demo",
    statementTimeoutMs: 60_000,
  });
  const prisma = createPrisma(pool);
  try {
    const accounts = await prepareAccounts(prisma, state);
    // Written before the visits: an interrupted load must run again with the same time and the same keys.
    await writeDemoState(file, state);
    for (const { site } of Object.values(accounts)) {
      await once(file, state, site.id, () =>
        loadVisits(pool, {
          site: { id: site.id, domain: site.domain as keyof typeof visitFiles },
          end: new Date(state.end),
        }),
      );
    }
    return {
      accounts,
      sendTraces: (baseUrl) =>
        once(file, state, accounts.pro.id, () =>
          sendTraces({ baseUrl, key: accounts.pro.keys.trace, end: new Date(state.end) }),
        ),
    };
  } finally {
    await prisma.$disconnect();
    await pool.end();
  }
}

/** Loads a part of the demo unless the state lists this site or account. */
async function once(file: string, state: DemoState, id: string, load: () => Promise<unknown>): Promise<void> {
  if (state.loaded.includes(id)) return;
  await load();
  state.loaded.push(id);
  await writeDemoState(file, state);
}
