import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { postmasterOf } from "../system/start-system.js";
import type { Fault } from "./fault.js";
import { startStandby } from "./standby.js";

/** The last fault of a run: from then on the former primary is of no use. */
export const failover: Fault = {
  name: "fail over",
  what: "kill -9 of Postgres; its synchronous standby becomes the primary",
  run: async ({ system, atEnd, seconds }) => {
    const standby = await startStandby(system);
    atEnd(() => standby.stop());
    await wait((seconds / 2) * 1_000);
    system.postgresWire.refuse(true);
    process.kill(await postmasterOf(system), "SIGKILL");
    const client = new pg.Client({ connectionString: standby.connectionString });
    await client.connect();
    await client.query("SELECT pg_promote()");
    await client.end();
    system.leadTo(standby.port);
    system.postgresWire.refuse(false);
  },
};
