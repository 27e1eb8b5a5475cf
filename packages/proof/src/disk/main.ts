import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startEmbeddedPostgres } from "@waymark/local";
import { formatReport, measureDisk } from "./measure-disk.js";

const usage = `usage: pnpm bench disk [--traces 1000] [--events 20000] [--build FOLDER] [--folder FOLDER | --database URL]
                       [--json FILE]
Stores recorded traces, OpenTelemetry requests and page views through the built services, and prints the bytes of each
table's rows, TOAST and indexes, and of WAL. It takes about a minute.
  --folder    where the Postgres from npm keeps its database for the run; on btrfs, mounted with compress-force=zstd:3, the
              bytes after compression are printed too, by Debian's btrfs-compsize
  --build     the built clone of another version, with its migrations and services
  --database  an empty database instead of the Postgres from npm`;

/** No checkpoint begins in between, so WAL has no full pages, and runs compare. */
const settings = { checkpoint_timeout: "1d", max_wal_size: "16GB", autovacuum: "off" };

const say = (line: string) => void process.stdout.write(`${line}\n`);
const { values } = parseArgs({
  args: process.argv.slice(2).filter((arg) => arg !== "--"),
  options: {
    traces: { type: "string", default: "1000" },
    events: { type: "string", default: "20000" },
    build: { type: "string", default: fileURLToPath(new URL("../../../../", import.meta.url)) },
    folder: { type: "string", default: tmpdir() },
    database: { type: "string" },
    json: { type: "string" },
    help: { type: "boolean" },
  },
});
const [traces, events] = [Number(values.traces), Number(values.events)];
if (values.help || ![traces, events].every((count) => Number.isSafeInteger(count) && count > 0)) {
  say(usage);
  process.exit(values.help ? 0 : 2);
}
const folder = await mkdtemp(join(resolve(values.folder), "waymark-disk-"));
const postgres = values.database
  ? undefined
  : await startEmbeddedPostgres({ folder: join(folder, "postgres"), settings });
try {
  const databaseUrl = values.database ?? postgres?.connectionString ?? "";
  const report = await measureDisk({ folder, databaseUrl, build: resolve(values.build), traces, events });
  say(formatReport(report));
  if (values.json) await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);
} finally {
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
}
