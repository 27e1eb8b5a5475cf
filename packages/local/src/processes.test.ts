import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "@jest/globals";
import { isRunning, launchersOf, processStartOf } from "./processes.js";

describe("processes", () => {
  it("are known by id and start, and are gone when they end", async () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    const pid = child.pid ?? 0;
    const identity = { pid, processStart: processStartOf(pid) ?? "" };
    expect(identity.processStart).not.toBe("");
    expect(isRunning(identity)).toBe(true);
    expect(isRunning({ pid, processStart: "1" })).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isRunning(identity)).toBe(false);
    expect(processStartOf(pid)).toBeUndefined();
  });

  it("know the commands they were started through, and no others", async () => {
    const script = "console.log(process.pid); setTimeout(() => {}, 60_000)";
    const shell = spawn("sh", ["-c", `: pnpm; node -e '${script}'; :`], { stdio: ["ignore", "pipe", "ignore"] });
    const [said] = (await once(shell.stdout, "data")) as [Buffer];
    const pid = Number(said.toString());
    expect(launchersOf(pid).map((it) => it.pid)).toEqual(expect.arrayContaining([shell.pid]));
    expect(launchersOf(pid).at(0)?.pid).toBe(shell.pid);
    process.kill(pid, "SIGKILL");
    const plain = spawn("sleep", ["60"], { stdio: "ignore" });
    expect(launchersOf(plain.pid ?? 0).map((it) => it.pid)).not.toContain(1);
    plain.kill("SIGKILL");
  });
});
