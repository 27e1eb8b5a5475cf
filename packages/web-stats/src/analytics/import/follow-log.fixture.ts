// Started as a process of its own, so that a test can kill it: ADDRESS SITE DOMAIN LOG.
import { createPool } from "@waymark/database";
import { followLog } from "./follow-log.js";

const [connectionString = "", id = "", domain = "", path = ""] = process.argv.slice(2);
await followLog({
  pool: createPool({ connectionString, maxConnections: 3, applicationName: "follower", statementTimeoutMs: 10_000 }),
  site: { id, domain },
  path,
  format: "combined",
  signal: new AbortController().signal,
  idleMs: 5,
  graceMs: 60,
});
