import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { describeWithProgram, useDatabase } from "@waymark/testing";
import { type Pooler, startPooler } from "@waymark/testing/pooler";
import { createCommandLine } from "../command-line.fixture.js";

describeWithProgram("pgbouncer", "a command behind pgbouncer", () => {
  const database = useDatabase();
  let folder: string;
  const poolers: Pooler[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "waymark-command-"));
    await chmod(folder, 0o711);
    for (const mode of ["transaction", "session"] as const)
      poolers.push(await startPooler(new URL(database.directUrl), mode, join(folder, mode)));
  });
  afterAll(async () => {
    await Promise.all(poolers.map((pooler) => pooler.stop()));
    await rm(folder, { recursive: true, force: true });
  });
  const list = (n: number) => createCommandLine({ DATABASE_URL: poolers[n]?.url }).run(["account", "list"]);

  it("is refused in transaction mode, with the variable to set", async () => {
    const { code, stderr } = await list(0);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        "Commands lock and copy within one session, and DATABASE_URL leads through a pooler in transaction mode. Set DIRECT_DATABASE_URL to Postgres itself.\n",
    });
  });

  it("works in session mode", async () => {
    expect(await list(1)).toMatchObject({ code: 0, stderr: "" });
  });
});
