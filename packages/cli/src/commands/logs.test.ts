import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { appendFile, chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createLogger } from "@waymark/service";
import { createCommandLine } from "../command-line.fixture.js";
import { maxLineBytes, readLines } from "../logs/log-lines.js";

const { run } = createCommandLine({});
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-logs-"));
});
afterAll(() => rm(folder, { recursive: true }));

const account = randomUUID();
const key = randomUUID();

const accessLine = {
  level: "info",
  time: "2026-11-28T07:00:00.000Z",
  service: "trace-api",
  requestId: "one",
  method: "GET",
  path: "/api/v1/traces",
  status: 200,
  ms: 12.3,
  accountId: account,
  keyId: key,
  msg: "request",
};

/** An access line as services write it. */
const access = (given: object = {}) => JSON.stringify({ ...accessLine, ...given });

/** What a service logs beside requests. */
async function logged(write: (log: ReturnType<typeof createLogger>) => void): Promise<string> {
  const destination = new PassThrough();
  write(createLogger({ service: "worker", level: "info", destination }));
  destination.end();
  return (await text(destination)).trim();
}

async function all<T>(given: AsyncIterable<T>): Promise<T[]> {
  const every: T[] = [];
  for await (const each of given) every.push(each);
  return every;
}

const lines = (...given: string[]) => given.map((line) => `${line}\n`).join("");
const idsOf = (stdout: string) => [...stdout.matchAll(/request=(\S+)/g)].map((match) => match[1]);

describe("the lines of a filter", () => {
  it("are those of a request in all services, and what they log for it", async () => {
    const failed = await logged((log) =>
      log.error({ requestId: "two", err: new Error("the cause") }, "a request failed"),
    );
    const input = lines(
      access(),
      access({ requestId: "two", status: 500 }),
      failed,
      access({ requestId: "two2" }),
      "two",
    );
    const { stdout, code } = await run(["logs", "--request", "two"], input);
    expect([code, stdout.trim().split("\n")]).toEqual([
      0,
      [
        `2026-11-28T07:00:00.000Z trace-api     GET /api/v1/traces 500 12.3 ms request=two account=${account} key=${key}`,
        expect.stringMatching(/^\S+Z worker +error: a request failed request=two err=\{.*"the cause"/),
      ],
    ]);
  });

  it("are those of an account or a key alone", async () => {
    const other = randomUUID();
    const input = lines(
      access(),
      access({ requestId: "b", accountId: other }),
      access({ requestId: "c", keyId: other }),
    );
    const by = async (...args: string[]) => idsOf((await run(["logs", ...args], input)).stdout);
    expect(await by("--account", account)).toEqual(["one", "c"]);
    expect(await by("--account", other)).toEqual(["b"]);
    expect(await by("--key", other.toUpperCase())).toEqual(["c"]);
    expect(await by("--key", key, "--account", other)).toEqual(["b"]);
  });

  it("are slow ones, ones with an answer, and those since a time, with their bounds", async () => {
    const input = lines(
      ...[access({ requestId: "a", ms: 499.99, status: 404 }), access({ requestId: "b", ms: 500, status: 503 })],
      access({ requestId: "c", ms: 2_000, time: "2026-11-28T07:00:00.001Z" }),
      "    at the start",
    );
    const by = async (...args: string[]) => idsOf((await run(["logs", ...args], input)).stdout);
    expect(await by("--slow", "500ms")).toEqual(["b", "c"]);
    expect(await by("--slow", "2s")).toEqual(["c"]);
    expect(await by("--status", "5xx")).toEqual(["b"]);
    expect(await by("--status", "404,2xx")).toEqual(["a", "c"]);
    expect(await by("--since", "2026-11-28T07:00:00.001Z")).toEqual(["c"]);
    expect(await by("--since", "2026-11-28T07:00:00.000Z", "--slow", "500ms")).toEqual(["b", "c"]);
  });

  it("are refused where nobody could mean them", async () => {
    for (const args of [
      ["--slow", "fast"],
      ["--status", "6xx"],
      ["--status", "40"],
      ["--account", "a@b.com"],
      ["--since", "x"],
    ])
      expect(await run(["logs", ...args])).toMatchObject({ code: 2, stdout: "" });
    const { code, stderr } = await run(["logs", "--from", join(folder, "none")]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^There is no file '.*none'\.\n$/)]);
  });
});

describe("a hostile line", () => {
  const codes = "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e";

  it("never controls the terminal, as text, in a field or as JSON", async () => {
    const input = lines(
      ...[`${codes}not JSON`, access({ path: `/${codes}`, [codes]: codes }), `{"level":${codes}`],
      ...[
        '{"level":null,"time":{},"service":[],"msg":1}',
        '{"level":"info"} trailing',
        `x | ${access({ requestId: "last" })}`,
      ],
    );
    const shown = await run(["logs"], `${input}\r\n\0\n`);
    const asJson = await run(["logs", "--json"], input);
    for (const { stdout, code } of [shown, asJson]) {
      expect(code).toBe(0);
      expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      expect(stdout.trim().split("\n").length).toBeGreaterThanOrEqual(6);
    }
    expect(
      asJson.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))[1],
    ).toMatchObject({ path: `/${codes}` });
    expect(idsOf(shown.stdout)).toEqual(["one", "last"]);
  });

  it("of any length takes the memory of a short one, and hides none after it", async () => {
    const chunk = Buffer.alloc(65_536, "x");
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const source = async function* () {
      for (let sent = 0; sent < 1_600; sent++) {
        yield chunk;
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
      }
      yield Buffer.from(`\n${access()}\n${"y".repeat(maxLineBytes)}\n${"z".repeat(maxLineBytes + 1)}`);
    };
    const read = await all(readLines(source()));
    expect(read.map(({ text, bytes }) => [text.length, bytes])).toEqual([
      [maxLineBytes, 104_857_600],
      [access().length, access().length],
      [maxLineBytes, maxLineBytes],
      [maxLineBytes, maxLineBytes + 1],
    ]);
    expect(most).toBeLessThan(4 * 1_048_576);
  });

  it("may be cut anywhere by a chunk", async () => {
    const bytes = Buffer.from("aü\n\nb\n日本");
    for (let size = 1; size <= bytes.length; size++) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
        bytes.subarray(n * size, (n + 1) * size),
      );
      const read = await all(
        readLines(
          (async function* () {
            yield* chunks;
          })(),
        ),
      );
      expect(read.map((line) => line.text)).toEqual(["aü", "", "b", "日本"]);
    }
  });
});

/** A program of that name, first on the path, which prints its arguments and a line. */
async function withProgram(name: string, body: string) {
  await writeFile(join(folder, name), `#!/bin/sh\n${body}\n`);
  await chmod(join(folder, name), 0o755);
  return createCommandLine({ PATH: `${folder}:/usr/bin:/bin` });
}

describe("the source", () => {
  it("is several files, in the order of their times", async () => {
    const at = (second: number, requestId: string) => access({ requestId, time: `2026-11-28T07:00:0${second}.000Z` });
    const [one, two] = [join(folder, "one.log"), join(folder, "two.log")];
    await writeFile(one, lines(at(1, "a"), at(4, "d")));
    await writeFile(two, lines(at(2, "b"), "    at a stack", at(3, "c")));
    const { stdout } = await run(["logs", "--from", one, "--from", two]);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => idsOf(line)[0] ?? line),
    ).toEqual(["a", "b", "    at a stack", "c", "d"]);
  });

  it("is systemd's journal of our units, or Compose's services", async () => {
    const journal = await withProgram("journalctl", `echo '${access()}'; echo "$*"`);
    const read = await journal.run(["logs", "--from", "systemd", "--since", "2026-11-28T06:00:00Z"]);
    expect(read.stdout).toContain("--unit waymark@* --output cat --no-pager --since 2026-11-28 06:00:00 UTC");
    expect(idsOf(read.stdout)).toEqual(["one"]);
    const compose = await withProgram("docker", `echo '${access()}'; echo "$*"`);
    const { stdout } = await compose.run(["logs", "--from", "compose"]);
    expect(stdout).toMatch(
      /^compose logs --no-log-prefix --no-color trace-api analytics-api collector worker dashboard$/m,
    );
    expect(idsOf(stdout)).toEqual(["one"]);
  });

  it("says why it cannot be read", async () => {
    const broken = await withProgram("docker", "echo 'no configuration file' >&2; exit 14");
    expect(await broken.run(["logs", "--from", "compose"])).toMatchObject({
      code: 1,
      stderr: "docker ended with 14: no configuration file\n",
    });
    const missing = createCommandLine({ PATH: folder });
    await rm(join(folder, "journalctl"));
    expect((await missing.run(["logs", "--from", "systemd"])).stderr).toBe("There is no journalctl on the PATH.\n");
  });

  it("is followed until Ctrl-C", async () => {
    const file = join(folder, "followed.log");
    await writeFile(file, lines(access({ requestId: "before" })));
    const { child, result } = createCommandLine({}).start(["logs", "--from", file, "--follow"]);
    let said = "";
    child.stdout.on("data", (part) => {
      said += part;
    });
    const until = async (id: string) => {
      while (!idsOf(said).includes(id)) await once(child.stdout, "data");
    };
    await until("before");
    await appendFile(file, lines(access({ requestId: "after" })));
    await until("after");
    child.kill("SIGINT");
    const { code, stdout } = await result;
    expect([code, idsOf(stdout)]).toEqual([130, ["before", "after"]]);
  });
});
