import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { built, useDatabase } from "@waymark/testing";
import { startApp } from "./app-process.js";

const database = useDatabase();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-roles-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the services' roles of tests", () => {
  it.each(["trace-api", "analytics-api", "collector", "worker"])("have the limits of %s", async (name) => {
    const url = new URL(database.directUrl);
    url.username = name;
    const prefix = name.toUpperCase().replace("-", "_");
    const app = startApp({
      name,
      entry: fileURLToPath(built(new URL(`../../../apps/${name}/dist/main.js`, import.meta.url))),
      nodeFlags: [],
      env: {
        DATABASE_URL: url.href,
        DIRECT_DATABASE_URL: url.href,
        DATABASE_POOLER: "transaction",
        [`${prefix}_PORT`]: "0",
        [`${prefix}_METRICS_PORT`]: "0",
        WAYMARK_DATA_DIR: folder,
      },
      cwd: folder,
      logFile: join(folder, `${name}.log`),
      say: () => undefined,
    });
    try {
      await expect(app.ready).resolves.toBeGreaterThan(0);
    } finally {
      await app.stop();
    }
  });
});
