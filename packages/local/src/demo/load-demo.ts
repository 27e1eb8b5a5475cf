import { join } from "node:path";
import { createPool } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import { type DemoAccounts, type DemoState, prepareAccounts, readDemoState, writeDemoState } from "./demo-accounts.js";
import { loadVisits, type sites } from "./load-visits.js";
import { planFreeTraces, planProTraces } from "./plan-traces.js";
import { sendTraces } from "./send-traces.js";

/** The demo of a local system. */
export interface Demo {
  readonly accounts: DemoAccounts;
  /** Sends the demo's traces to the trace service unless an earlier start did. */
  sendTraces(baseUrl: string): Promise<void>;
}

interface DemoOptions {
  databaseUrl: string;
  dataFolder: string;
  now: Date;
  /** Gets a line before each part that takes a while. */
  say(line: string): void;
  /** Aborting it ends the load. */
  signal: AbortSignal;
}

/** The newest failures come as from an agent, so the mails and their page have something to show. */
const mailedFailures = 3;

/** Makes the demo's accounts, keys, sites and visits, except those of an earlier start. */
export async function loadDemo(options: DemoOptions): Promise<Demo> {
  const { signal } = options;
  const file = join(options.dataFolder, "demo.json");
  const state = await readDemoState(file, options.now);
  const pool = createPool({
    connectionString: options.databaseUrl,
    maxConnections: 3,
    applicationName: "waymark demo",
    statementTimeoutMs: 60_000,
    pipeline: true,
  });
  const prisma = createPrisma(pool);
  try {
    const accounts = await prepareAccounts({ pool, prisma }, state);
    // Written before the visits: an interrupted load must run again with the same time and the same keys.
    await writeDemoState(file, state);
    for (const { site } of Object.values(accounts)) {
      await once(file, state, site.id, () => {
        options.say(`Loading the demo: 60 days of visits to ${site.domain} ...`);
        return loadVisits(pool, {
          site: { id: site.id, domain: site.domain as keyof typeof sites },
          end: new Date(state.end),
        });
      });
    }
    return {
      accounts,
      async sendTraces(baseUrl) {
        const end = Date.parse(state.end);
        const { free, pro } = accounts;
        await once(file, state, pro.id, async () => {
          const traces = await planProTraces(end);
          options.say(`Loading the demo: ${traces.length} traces of six agents ...`);
          await sendTraces({ baseUrl, key: pro.keys.trace, traces, mails: mailedFailures, signal });
        });
        await once(file, state, free.id, () =>
          sendTraces({ baseUrl, key: free.keys.trace, traces: planFreeTraces(end), mails: 0, signal }),
        );
      },
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
