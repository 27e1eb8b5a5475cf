import { createHash, randomUUID } from "node:crypto";
import { chmodSync, chownSync, cpSync, type Dirent, existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { migrate, migrationsFolder, withClient } from "@waymark/database";
import { startEmbeddedPostgres } from "./embedded-postgres.js";
import { serverUser } from "./platform.js";

/** Test files clone this migrated database; `@waymark/testing` has the same name. */
const templateDatabase = "waymark_template";

const cacheFolder = fileURLToPath(new URL("../../../node_modules/.cache/", import.meta.url));

/** A server to copy, made by the programs of a folder; by those from npm without one. */
interface TestServer {
  folder: string;
  programs: string | undefined;
}

/** Test data does not outlive the test, so Postgres need not write it to disk. */
export const testSettings = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "300",
};

/**
 * Copies the files of a stopped, migrated Postgres into a new folder. `node_modules/.cache` keeps the files until the
 * migrations, their code or the server change.
 */
export async function copyTestServer({ folder, programs }: TestServer): Promise<void> {
  const kept = join(cacheFolder, `waymark-test-postgres${programs?.replaceAll("/", "-") ?? ""}`, readKey(programs));
  if (!existsSync(kept)) await make(kept, programs);
  cpSync(kept, folder, { recursive: true });
  const user = serverUser();
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const directories = entries.filter((entry) => entry.isDirectory()).map(pathOf);
  // Node 24 copies a directory's files with their modes, but not its own; Postgres refuses a data directory others may read.
  for (const path of [folder, ...directories]) chmodSync(path, 0o700);
  if (user) for (const path of [folder, ...entries.map(pathOf)]) chownSync(path, user.uid, user.gid);
}

function pathOf({ parentPath, name }: Dirent): string {
  return join(parentPath, name);
}

/** A hash of the files that make a migrated server. */
function readKey(programs: string | undefined): string {
  const database = dirname(fileURLToPath(import.meta.resolve("@waymark/database")));
  const local = dirname(fileURLToPath(import.meta.url));
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}`);
  const manifest = fileURLToPath(new URL("../package.json", import.meta.url));
  for (const file of [manifest, join(local, "test-template.ts"), join(local, "embedded-postgres.ts")]) add(file);
  if (programs) add(join(programs, "postgres"));
  for (const name of readdirSync(database).sort()) if (/(?<!\.test)\.ts$/.test(name)) add(join(database, name));
  for (const path of readdirSync(migrationsFolder, { recursive: true }).map(String).sort()) {
    if (path.endsWith(".sql")) add(join(migrationsFolder, path));
  }
  return hash.digest("hex").slice(0, 16);

  function add(file: string) {
    hash.update(readFileSync(file));
  }
}

/** Several processes may make it at once: each renames a whole folder, and the first one stays. Others may be copying it. */
async function make(kept: string, programs: string | undefined): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), "waymark-test-"));
  const folder = join(work, "postgres");
  const postgres = await startEmbeddedPostgres({ folder, programs, settings: testSettings });
  try {
    await createTemplate(new URL(postgres.connectionString));
  } finally {
    await postgres.stop();
  }
  await mkdir(dirname(kept), { recursive: true });
  const stale = readdirSync(dirname(kept)).filter((name) => !name.startsWith(basename(kept)));
  for (const name of stale) await rm(join(dirname(kept), name), { recursive: true, force: true });
  const whole = `${kept}.${randomUUID()}`;
  cpSync(folder, whole, { recursive: true });
  await rename(whole, kept).catch(() => rm(whole, { recursive: true, force: true }));
  await rm(work, { recursive: true, force: true });
}

async function createTemplate(server: URL): Promise<void> {
  const template = new URL(server);
  template.pathname = `/${templateDatabase}`;
  await withClient(server.href, "tests", (client) => client.query(`CREATE DATABASE ${templateDatabase}`));
  await migrate(template.href);
}
