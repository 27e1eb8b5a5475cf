import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
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

describe("backup --into", () => {
  const names = (at: string) => readdir(at).then((found) => found.sort());
  let into: string;
  beforeEach(async () => {
    into = await mkdtemp(join(folder, "into-"));
  });
  const at = (day: number) => createCommandLine({ DATABASE_URL: source.url }, () => new Date(Date.UTC(2026, 0, day)));
  const name = (day: number) => `waymark-202601${String(day).padStart(2, "0")}T000000Z.backup`;

  it("keeps the newest files by --keep, and touches no other", async () => {
    await writeFile(join(into, "waymark.backup"), "mine");
    await mkdir(join(into, name(1)));
    await writeFile(join(into, `${name(2)}.part`), "of a killed run");
    for (const day of [3, 4, 5]) await at(day).json("backup", "--into", into, "--keep", "2");
    expect(await names(into)).toEqual([name(1), name(4), name(5), "waymark.backup"].sort());
    expect((await stat(join(into, name(5)))).mode & 0o777).toBe(0o600);
    // A clock that went back: the new file is the newest, whatever its name.
    await at(2).json("backup", "--into", into, "--keep", "1");
    expect(await names(into)).toEqual([name(1), name(2), "waymark.backup"].sort());
  });

  it("refuses a second run at once, and options that do not fit", async () => {
    await source.pool.query("SELECT 1");
    const client = await source.pool.connect();
    await client.query("SELECT pg_advisory_lock(hashtext('waymark backup --into'))");
    expect(await at(6).run(["backup", "--into", into])).toMatchObject({
      code: 1,
      stderr: "Another backup of this database is being written.\n",
    });
    await client.query("SELECT pg_advisory_unlock_all()");
    client.release();
    expect(await at(6).run(["backup", "--keep", "2"])).toMatchObject({ code: 2, stderr: "--keep needs --into.\n" });
    expect(await at(6).run(["backup", "--into", into, "--keep", "0"])).toMatchObject({ code: 2 });
    expect(await at(6).run(["backup", "--into", into, "--file", "x"])).toMatchObject({ code: 2 });
    expect((await at(6).run(["backup", "--into", join(into, "none")])).stderr).toMatch(/^The folder .* cannot be read/);
    expect(await names(into)).toEqual([]);
  });

  it("says that the disk is full, and leaves nothing", async () => {
    const file = join(into, "full");
    await symlink("/dev/full", `${file}.part`);
    expect(await at(7).run(["backup", "--file", file])).toMatchObject({
      code: 1,
      stderr: "The disk is full, or a quota is used up: the file is not whole and was not kept.\n",
    });
    expect(await names(into)).toEqual([]);
  });

  it("is recorded with its moment, unless another step is to follow", async () => {
    const recorded = async () => (await source.pool.query("SELECT at FROM backup_record")).rows[0]?.at.getTime();
    await source.pool.query("DELETE FROM backup_record");
    await at(8).json("backup", "--into", into, "--unrecorded");
    expect(await recorded()).toBeUndefined();
    const saved = await at(9).json<{ at: string }>("backup", "--into", into);
    expect(await recorded()).toBe(Date.parse(saved.at));
    expect(await at(9).run(["backup", "record"])).toMatchObject({ code: 0, stdout: "Recorded.\n" });
    expect(await recorded()).toBeGreaterThan(Date.parse(saved.at));
  });
});

describe("backup verify", () => {
  it("tells each table of a folder's newest file, and ends with 1 for a broken one", async () => {
    const into = await mkdtemp(join(folder, "verify-"));
    const { run, json } = createCommandLine({ DATABASE_URL: source.url });
    expect(await run(["backup", "verify", into])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has no file/),
    });
    const { file } = await json<{ file: string }>("backup", "--into", into);
    const { code, stdout } = await run(["backup", "verify", into]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^✓ account: 1 row$/m)]);
    expect(stdout).toMatch(/\d+ migrations of the file, 0 later ones applied\.\nDone: .* restores whole\.\n$/);
    expect(
      (await source.pool.query("SELECT FROM backup_record WHERE verified_at > now() - interval '1 minute'")).rowCount,
    ).toBe(1);
    await writeFile(file, (await readFile(file)).subarray(0, -1));
    expect(await run(["backup", "verify", file])).toMatchObject({
      code: 1,
      stderr: "This file is no backup of Waymark, or a part of it is missing.\n",
    });
  });
});
