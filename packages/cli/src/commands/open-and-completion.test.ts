import { spawnSync } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createCommandLine } from "../command-line.fixture.js";

const { run } = createCommandLine({});
const has = (shell: string) => spawnSync(shell, ["-c", "exit"]).status === 0;
const itWithZsh = has("zsh") ? it : it.skip; // The shell is not installed.
const itWithFish = has("fish") ? it : it.skip; // The shell is not installed.

/** What a shell runs after our script. */
async function complete(shell: string, more: string): Promise<string[]> {
  const { stdout: script } = await run(["completion", shell]);
  const flags = shell === "zsh" ? ["-f"] : shell === "fish" ? ["--no-config"] : ["--norc"];
  const before = shell === "zsh" ? "compdef() { :; }\ncompadd() { print -l -- $@; }\n" : "";
  const { stdout, stderr } = spawnSync(shell, [...flags, "-c", `${before}${script}\n${more}`], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split(/\s+/);
}

const bash = (words: string, at: number) =>
  complete("bash", `COMP_WORDS=(${words}); COMP_CWORD=${at}; _waymark; printf '%s\\n' "\${COMPREPLY[@]}"`);
const zsh = (words: string, at: number) => complete("zsh", `words=(${words}); CURRENT=${at + 1}; _waymark`);
const fish = (words: string) => complete("fish", `complete -C "${words}"`);

describe("waymark completion", () => {
  it("completes commands, their commands and options in bash", async () => {
    expect(await bash('waymark ""', 1)).toEqual(expect.arrayContaining(["trace", "doctor", "--json", "--help"]));
    expect(await bash("waymark tr", 1)).toEqual(["trace", ""]);
    expect(await bash("waymark --json trace de", 3)).toEqual(["delete", ""]);
    expect(await bash("waymark trace show 0c07398f --sp", 4)).toEqual(["--spans", "--span", ""]);
    expect(await bash("waymark usage models --acc", 3)).toEqual(["--account", ""]);
    expect(await bash("waymark trace show --fu", 3)).toEqual(["", ""]);
  });

  itWithZsh("completes in zsh", async () => {
    expect(await zsh('waymark ""', 1)).toEqual(expect.arrayContaining(["trace", "doctor", "--json"]));
    expect(await zsh('waymark trace ""', 2)).toEqual(expect.arrayContaining(["list", "delete", "--help"]));
    expect(await zsh('waymark trace show x ""', 4)).toEqual(expect.arrayContaining(["--io", "--key"]));
  });

  itWithFish("completes in fish", async () => {
    expect(await fish("waymark tr")).toContain("trace");
    expect(await fish("waymark trace de")).toContain("delete");
    expect(await fish("waymark trace show x --i")).toContain("--io");
  });

  it("refuses another shell", async () => {
    expect(await run(["completion", "tcsh"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("bash, zsh, fish"),
    });
  });
});

describe("waymark open", () => {
  const id = "019c13f2-6c00-7cc3-98c4-dc0c0c07398f";
  let location: string | undefined;
  let server: Server;
  let env: Record<string, string>;
  beforeAll(async () => {
    server = createServer(({ url }, answer) => {
      if (url?.startsWith("/api/")) return answer.end(JSON.stringify({ traces: [{ id }], next_cursor: null }));
      return answer.writeHead(location ? 302 : 200, location ? { Location: `${location}${url}` } : {}).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    env = { WAYMARK_TRACE_URL: `${url}/`, WAYMARK_TRACE_KEY: "wmk_trace_x" };
  });
  afterAll(() => void server.close());

  it("prints where the trace API leads, by a part of the id", async () => {
    const cli = createCommandLine(env);
    location = "https://pages.example";
    expect((await cli.run(["open", "0c07398f"])).stdout).toBe(`https://pages.example/dashboard/traces/${id}\n`);
    location = undefined;
    expect(await cli.json("open", id, "--print")).toEqual({ url: `${env["WAYMARK_TRACE_URL"]}dashboard/traces/${id}` });
    location = "javascript:alert(1)//";
    expect((await cli.run(["open", "../../x"])).stdout).toContain("/dashboard/traces/..%2F..%2Fx");
  });
});
