import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { launchAs, serverUser } from "./platform.js";

describe("a program run as the server's user", () => {
  it("reaches files below a folder that only we may enter, and has no other right of ours", async () => {
    const user = serverUser();
    const folder = await mkdtemp(join(tmpdir(), "waymark platform-"));
    const file = join(folder, "program");
    await writeFile(file, "");
    await chmod(file, 0o755);
    const script = `require("fs").accessSync(${JSON.stringify(file)}, 1); console.log(require("fs").readFileSync("/proc/self/status", "utf8"))`;
    const { command, args, ...ids } = launchAs(user, process.execPath, ["-e", script], [file]);
    const { status, stdout } = spawnSync(command, args, { ...ids, cwd: "/", encoding: "utf8" });
    expect(status).toBe(0);
    if (user) {
      expect(stdout).toMatch(new RegExp(`^Uid:\\s+${user.uid}\\s`, "m"));
      expect(stdout).toMatch(/^CapEff:\s+0+[024]$/m);
    }
    await rm(folder, { recursive: true });
  });
});
