import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { AlreadyRunningError, claimDataFolder } from "./claim.js";
import { isRunning, processStartOf } from "./processes.js";

let folder: string;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "waymark-claim-")), "with space");
});
afterEach(() => rm(join(folder, ".."), { recursive: true, force: true }));
const file = () => join(folder, "local.json");

describe("claiming a data folder", () => {
  it("makes the folder and the file for their owner alone, and publishes what becomes known", async () => {
    const claim = await claimDataFolder(folder);
    await claim.publish({ databaseUrl: "postgres://x" });
    expect(JSON.parse(await readFile(file(), "utf8"))).toMatchObject({ pid: process.pid, databaseUrl: "postgres://x" });
    expect([(await stat(folder)).mode & 0o777, (await stat(file())).mode & 0o777]).toEqual([0o700, 0o600]);
    claim.release();
    await expect(readFile(file())).rejects.toThrow(/ENOENT/);
  });

  it("refuses a folder that a running process holds, and says which and where", async () => {
    const claim = await claimDataFolder(folder);
    await claim.publish({ urls: ["http://127.0.0.1:4100"] });
    await expect(claimDataFolder(folder)).rejects.toThrow(AlreadyRunningError);
    await expect(claimDataFolder(folder)).rejects.toThrow(`process ${process.pid}, at http://127.0.0.1:4100`);
    claim.release();
  });

  it("lets one of several that start at once have it", async () => {
    const claims = await Promise.allSettled(Array.from({ length: 8 }, () => claimDataFolder(folder)));
    expect(claims.filter((it) => it.status === "fulfilled")).toHaveLength(1);
  });

  it("takes over from a process that is gone, also where its id was given to another process", async () => {
    await claimDataFolder(folder);
    await writeFile(file(), JSON.stringify({ pid: process.pid, processStart: "another time" }));
    await (await claimDataFolder(folder)).publish({});
    expect(JSON.parse(await readFile(file(), "utf8"))).toMatchObject({ processStart: processStartOf(process.pid) });
  });

  it("takes over a file that cannot be read", async () => {
    await claimDataFolder(folder);
    await writeFile(file(), '{"pid": 1');
    await claimDataFolder(folder);
  });

  it("ends apps that outlived a killed run", async () => {
    const app = spawn("sleep", ["60"], { stdio: "ignore" });
    const pid = app.pid ?? 0;
    const identity = { name: "trace-api", pid, processStart: processStartOf(pid) ?? "" };
    expect(isRunning(identity)).toBe(true);
    const ended = once(app, "exit");
    await claimDataFolder(folder);
    await writeFile(file(), JSON.stringify({ pid: 0, processStart: "gone", apps: [identity] }));
    await claimDataFolder(folder);
    await ended;
  });
});
