import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { useDatabase, useEmptyDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const source = useDatabase();
const target = useEmptyDatabase();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-backup-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("backup and restore", () => {
  it("move everything into another database, once", async () => {
    const from = createCommandLine({ DATABASE_URL: source.url });
    const to = createCommandLine({ DATABASE_URL: target.url });
    await from.json("account", "create", "--email", "moved@example.com", "--plan", "pro");
    await from.json("site", "create", "--account", "moved@example.com", "--domain", "moved.example", "--name", "Site");
    const lines = [1, 2, 3].map((n) => JSON.stringify({ ts: new Date().toISOString(), path: `/${n}`, visitor: "v" }));
    await from.run(["import", "--site", "moved.example", "--file", "-"], `${lines.join("\n")}\n`);
    const file = join(folder, "waymark.backup");
    const saved = await from.json<{ rows: number }>("backup", "--file", file);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(["waymark.backup"]);
    expect(await to.run(["restore", "--file", file])).toEqual({
      code: 0,
      stdout: `Done: ${saved.rows} rows restored.\n`,
      stderr: "",
    });
    const stats = ["stats", "--site", "moved.example", "--range", "7d", "--metrics", "visits"];
    expect(await to.json(...stats)).toEqual(await from.json(...stats));
    expect((await to.run(["rollup", "rebuild", "--site", "moved.example", "--check"])).code).toBe(0);
    expect(await to.run(["restore", "--file", file])).toMatchObject({
      code: 1,
      stderr: "The database has accounts already. Restore into an empty database.\n",
    });
  });

  it("say what is wrong with a file, and leave none that is not whole", async () => {
    const { run } = createCommandLine({ DATABASE_URL: source.url });
    const wrong = join(folder, "wrong");
    await writeFile(wrong, "hello");
    expect(await run(["restore", "--file", wrong])).toMatchObject({
      code: 1,
      stderr: "This file is no backup of Waymark, or a part of it is missing.\n",
    });
    expect((await run(["restore", "--file", join(folder, "none")])).stderr).toMatch(/^There is no file/);
    expect((await run(["backup", "--file", join(folder, "no", "such")])).stderr).toMatch(/cannot be written/);
    const lost = createCommandLine({ DATABASE_URL: "postgres://127.0.0.1:1/none" });
    expect(await lost.run(["backup", "--file", join(folder, "lost")])).toMatchObject({ code: 1 });
    expect(await readdir(folder)).not.toContain("lost.part");
  });
});
