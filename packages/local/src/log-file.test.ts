import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openLogFile } from "./log-file.js";
import { describeFailure } from "./run-start.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-logs-"));
});
afterAll(() => rm(folder, { recursive: true }));
const fail = (error: Error) => {
  throw error;
};

describe("the log of an app", () => {
  it("keeps two files of a limited size, over restarts too, for their owner alone", async () => {
    const file = join(folder, "app.log");
    for (let start = 0; start < 4; start++) {
      const log = openLogFile(file, fail, 1_000);
      for (let line = 0; line < 100; line++) log.write(`${start} ${line} `.padEnd(99, "."));
      log.close();
    }
    expect((await readdir(folder)).sort()).toEqual(["app.log", "app.log.1"]);
    const text = (await readFile(`${file}.1`, "utf8")) + (await readFile(file, "utf8"));
    const lines = text.trimEnd().split("\n");
    expect(lines.length).toBeGreaterThanOrEqual(10);
    expect(lines.length).toBeLessThanOrEqual(20);
    expect(lines.at(-1)).toMatch(/^3 99 /);
    expect(lines.every((line) => line.length === 99)).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("loses lines on a full disk, says so once, and ends nothing", () => {
    const failures: Error[] = [];
    const log = openLogFile("/dev/full", (error) => failures.push(error));
    for (let line = 0; line < 5; line++) log.write("a line");
    log.close();
    expect(failures.map((error) => (error as NodeJS.ErrnoException).code)).toEqual(["ENOSPC"]);
    expect(describeFailure(failures[0])).toMatch(/^There is no space left on the disk\. Make some, then start again\./);
  });
});
