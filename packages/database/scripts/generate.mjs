// Generates the name of the newest migration, which images without migrations need too, and the Prisma client. Prisma wants its schema engine, a download, though generating needs none: any executable
// in its place will do.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";

const migrations = readdirSync("../../prisma/migrations", { withFileTypes: true });
const newest = migrations
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort()
  .at(-1);
mkdirSync("src/generated", { recursive: true });
writeFileSync("src/generated/newest-migration.ts", `export const newestMigration = "${newest}";\n`);

const standIn = ["/usr/bin/true", "/bin/true"].find((path) => existsSync(path));
const env = { PRISMA_HIDE_UPDATE_MESSAGE: "1", CHECKPOINT_DISABLE: "1", ...process.env };
if (standIn) env.PRISMA_SCHEMA_ENGINE_BINARY ??= standIn;
const result = spawnSync("prisma", ["generate", "--no-hints", "--schema", "../../prisma/schema.prisma"], {
  env,
  stdio: "inherit",
});
process.exit(result.status ?? 1);
