import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "./embedded-postgres.js";

let folder: string;
let running: EmbeddedPostgres | undefined;
beforeAll(async () => {
  // `mkdtemp` makes a folder for this user alone, and Postgres does not run as root.
  folder = join(await mkdtemp(join(tmpdir(), "waymark pg-")), "postgres");
});
afterAll(async () => {
  await running?.stop();
  await rm(join(folder, ".."), { recursive: true, force: true });
});

async function query(connectionString: string, sql: string) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
}

describe("the embedded Postgres", () => {
  it("starts in a folder that only we may enter, with a space in its name, behind a password", async () => {
    running = await startEmbeddedPostgres({ folder });
    const url = new URL(running.connectionString);
    expect(running.adopted).toBe(false);
    expect(url.hostname).toBe("127.0.0.1");
    expect((await stat(join(folder, "password"))).mode & 0o777).toBe(0o600);
    await query(url.href, "CREATE TABLE kept AS SELECT 1 AS one");
    url.password = "wrong";
    await expect(query(url.href, "SELECT 1")).rejects.toThrow(/password authentication failed/);
  });

  it("takes over a server that a killed run left", async () => {
    const again = await startEmbeddedPostgres({ folder });
    expect(again).toMatchObject({ adopted: true, port: running?.port });
    expect(await query(again.connectionString, "SELECT one FROM kept")).toEqual([{ one: 1 }]);
  });

  it("keeps its data and its port over a stop", async () => {
    await running?.stop();
    const port = running?.port;
    running = await startEmbeddedPostgres({ folder });
    expect(running).toMatchObject({ adopted: false, port });
    expect(await query(running.connectionString, "SELECT one FROM kept")).toEqual([{ one: 1 }]);
  });

  it("starts although a pid file names a process that is another", async () => {
    await running?.stop();
    const log = await readFile(join(folder, "postgres.log"), "utf8");
    expect(log).toMatch(/database system is shut down/);
    await writeFile(
      join(folder, "data", "postmaster.pid"),
      `${process.pid}\n${join(folder, "data")}\n0\n5432\n\n\n\n\n`,
    );
    running = await startEmbeddedPostgres({ folder });
    expect(await query(running.connectionString, "SELECT one FROM kept")).toEqual([{ one: 1 }]);
  });
});
