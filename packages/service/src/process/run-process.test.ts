import { EventEmitter } from "node:events";
import { describe, expect, it } from "@jest/globals";
import { pino } from "pino";
import { ConfigError } from "./env.js";
import { createLogger } from "./logger.js";
import { type ProcessLike, runProcess } from "./run-process.js";

/** Notes its exit instead of ending. */
function makeProcess() {
  const emitter = new EventEmitter();
  const exited: { code?: number } = {};
  let said = "";
  const end = new Promise<number>((resolve) => {
    Object.assign(emitter, {
      env: {},
      connected: true,
      exit: (code: number) => {
        exited.code ??= code;
        resolve(code);
      },
      stderr: { write: (text: string) => (said += text) },
    });
  });
  return { node: emitter as unknown as ProcessLike, emitter, end, said: () => said };
}

const log = pino({ level: "silent" });

describe("runProcess", () => {
  it.each(["SIGTERM", "SIGINT", "disconnect"])("stops in order on %s and exits with 0", async (signal) => {
    const { node, emitter, end } = makeProcess();
    const order: string[] = [];
    await runProcess(node, log, async () => ({ stop: async () => void order.push("stopped") }));
    emitter.emit(signal);
    expect(await end).toBe(0);
    expect(order).toEqual(["stopped"]);
  });

  it("ends at once on a second signal", async () => {
    const { node, emitter, end } = makeProcess();
    await runProcess(node, log, async () => ({ stop: () => new Promise(() => undefined) }));
    emitter.emit("SIGINT");
    emitter.emit("SIGINT");
    expect(await end).toBe(1);
  });

  it("says what is wrong with the configuration and exits with 2", async () => {
    const { node, end, said } = makeProcess();
    await runProcess(node, log, async () => {
      throw new ConfigError(["PORT must be set"]);
    });
    expect(await end).toBe(2);
    expect(said()).toContain("PORT must be set");
  });

  it("warns of a held event loop, with the work in hand", async () => {
    const { node } = makeProcess();
    const lines: string[] = [];
    const spoken = createLogger({
      service: "s",
      level: "warn",
      destination: { write: (line) => void lines.push(line) },
    });
    await runProcess(node, spoken, async () => ({ stop: async () => undefined, inHand: () => ["GET /x"] }));
    const heldUntil = performance.now() + 400;
    while (performance.now() < heldUntil);
    while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ msg: "the event loop was held", inHand: ["GET /x"] });
  });

  it("logs any other failure to start and exits with 1", async () => {
    const { node, end } = makeProcess();
    const lines: string[] = [];
    const spoken = createLogger({
      service: "s",
      level: "info",
      destination: { write: (line) => void lines.push(line) },
    });
    await runProcess(node, spoken, async () => {
      throw new Error("no luck");
    });
    expect(await end).toBe(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: "fatal", service: "s", err: { message: "no luck" } });
  });
});

describe("createLogger", () => {
  it("hides keys and addresses with passwords, and takes an unknown level as info", () => {
    const lines: string[] = [];
    const spoken = createLogger({
      service: "s",
      level: "loud",
      destination: { write: (line) => void lines.push(line) },
    });
    spoken.info(
      { headers: { authorization: "Bearer secret" }, pool: { connectionString: "postgres://u:secret@h" } },
      "hello",
    );
    expect(lines.join()).toContain("hello");
    expect(lines.join()).not.toContain("secret");
  });
});
