// Generates the Prisma client. Prisma wants its schema engine, a download, though generating needs none: any executable
// in its place will do.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const standIn = ["/usr/bin/true", "/bin/true"].find((path) => existsSync(path));
const env = { PRISMA_HIDE_UPDATE_MESSAGE: "1", CHECKPOINT_DISABLE: "1", ...process.env };
if (standIn) env.PRISMA_SCHEMA_ENGINE_BINARY ??= standIn;
const result = spawnSync("prisma", ["generate", "--no-hints", "--schema", "../../prisma/schema.prisma"], {
  env,
  stdio: "inherit",
});
process.exit(result.status ?? 1);
