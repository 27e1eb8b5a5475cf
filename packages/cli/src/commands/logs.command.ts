import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { isUuid } from "@waymark/database";
import { InvalidArgumentError } from "commander";
import { collect, parseTime, timeForms } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { type CommandContext, interruptedExitCode } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { dataFolderOf } from "../local-system.js";
import { createSieve, drawLine, type LogLine, mergeLines, readLines, toJson } from "../logs/log-lines.js";
import { printable, styleOf } from "../output/terminal-text.js";

const help = `
Without --from it reads standard input where that is no terminal, else what it finds: the units of systemd, an installation of
Compose in this folder or its 'docker', or the local system. --from takes '-', 'systemd', 'compose' or a file, also several.

Examples:
  $ waymark logs --request 0c07398f-2b6a-4c3e-9a53-6f0a4c1d2e77
  $ waymark logs --status 5xx --since 1h
  $ waymark logs --account ID --slow 500ms --follow
  $ ssh HOST docker compose logs --no-log-prefix trace-api | waymark logs --status 404 --json`;

export function declareCommand(command: TopCommand): void {
  command
    .help(help)
    .option("--from <source>", "where the lines are: -, systemd, compose, or a file; repeatable", { parse: collect })
    .option("--request <id>", "only lines of this request, by its X-Request-Id")
    .option("--account <id>", "only requests of this account", { parse: id })
    .option("--key <id>", "only requests with this key, by its id", { parse: id })
    .option("--slow <time>", "only requests that took at least this long, such as 500ms or 2s", { parse: milliseconds })
    .option("--status <statuses>", "only requests with one of these answers, such as 404 or 5xx,429", {
      parse: statuses,
    })
    .option("--since <time>", `only lines since then: ${timeForms}`, { parse: parseTime })
    .option("--follow", "go on with new lines until Ctrl-C")
    .run(async (context, options) => {
      const { stdout, env, isJson } = context;
      const since = options.since?.(context.now());
      const interrupt = context.catchInterrupts();
      const closed = new AbortController();
      // `waymark logs | head`: the reader has left.
      stdout.once("error", () => closed.abort()).once("close", () => closed.abort());
      const signal = AbortSignal.any([interrupt, closed.signal]);
      const sieve = () =>
        createSieve({
          requestId: options.request,
          accountId: options.account,
          keyId: options.key,
          leastMs: options.slow,
          statuses: options.status,
          sinceMs: since === undefined ? undefined : Date.parse(since),
        });
      const sources = await openSources(context, options.from, { since, isFollowing: options.follow === true }, signal);
      const lines = sources.map((source) => sifted(source, sieve(), signal));
      const style = styleOf(stdout, env);
      for await (const line of mergeLines(lines)) {
        const isFull = !stdout.write(`${isJson ? toJson(line) : drawLine(line, style)}\n`);
        if (isFull && !signal.aborted) await once(stdout, "drain", { signal }).catch(() => undefined);
        if (signal.aborted) break;
      }
      return interrupt.aborted ? { exitCode: interruptedExitCode } : {};
    });
}

function id(text: string): string {
  if (isUuid(text)) return text.toLowerCase();
  throw new InvalidArgumentError("It must be an id, as 'waymark account list' and 'waymark key list' print them.");
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

function milliseconds(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,7}(?:\.\d{1,3})?)(ms|s|m)$/.exec(text) ?? [];
  if (amount === undefined) throw new InvalidArgumentError("It must be a time such as 500ms, 2s or 1m.");
  return Number(amount) * (unitMs[unit] ?? 0);
}

function statuses(text: string): string[] {
  const forms = text.split(",");
  if (forms.every((form) => /^[1-5](xx|\d\d)$/.test(form))) return forms;
  throw new InvalidArgumentError("It must be statuses such as 404, 5xx or 5xx,429.");
}

interface Source {
  stream: Readable;
  /** Rejects where the program that writes the stream failed. */
  ended: Promise<void>;
}

async function* sifted({ stream, ended }: Source, sieve: ReturnType<typeof createSieve>, signal: AbortSignal) {
  const stop = () => void stream.destroy();
  signal.addEventListener("abort", stop);
  try {
    for await (const line of readLines(stream)) {
      const found: LogLine | undefined = sieve(line);
      if (found) yield found;
    }
    await ended;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

interface Reading {
  since: string | undefined;
  isFollowing: boolean;
}

async function openSources(
  context: CommandContext,
  from: string[] | undefined,
  reading: Reading,
  signal: AbortSignal,
): Promise<Source[]> {
  const given = from ?? (await findSource(context));
  const files = given.filter((name) => !["-", "systemd", "compose"].includes(name));
  const others = given.filter((name) => !files.includes(name));
  const missing = files.find((file) => !existsSync(file));
  if (missing !== undefined) throw new CommandError(`There is no file '${printable(missing)}'.`);
  const run = (command: string, args: readonly string[], cwd?: string) =>
    outputOf(command, args, { env: context.env, ...(cwd !== undefined && { cwd }) }, signal);
  const open: Record<string, () => Source> = {
    "-": () => ({ stream: context.stdin, ended: Promise.resolve() }),
    systemd: () => run("journalctl", journalArguments(reading)),
    compose: () => run("docker", composeArguments(reading), composeFolder()),
  };
  const opened = [...new Set(others)].flatMap((name) => open[name]?.() ?? []);
  if (files.length === 0) return opened;
  if (reading.isFollowing) return [...opened, run("tail", ["-q", "-n", "+1", "-F", "--", ...files])];
  return [...opened, ...files.map((file) => fileOf(file))];
}

function fileOf(file: string): Source {
  return { stream: createReadStream(file), ended: Promise.resolve() };
}

const unit = "/etc/systemd/system/waymark@.service";

async function findSource({ stdin, env }: CommandContext): Promise<string[]> {
  if (!stdin.isTTY) return ["-"];
  if (existsSync(unit)) return ["systemd"];
  const folder = composeFolder();
  if (folder !== undefined && existsSync(join(folder, ".env"))) return ["compose"];
  const logs = join(dataFolderOf(env), "logs");
  const names = await readdir(logs).catch(() => []);
  if (names.length > 0) return names.map((name) => join(logs, name));
  throw new CommandError(
    "There is no log here: name one with --from, or run this in the folder 'docker' of an installation.",
  );
}

function composeFolder(): string | undefined {
  return [resolve("."), resolve("docker")].find((folder) => existsSync(join(folder, "compose.yaml")));
}

function journalArguments({ since, isFollowing }: Reading): string[] {
  // Without lines of its own `--follow` begins with the last ten.
  const more = isFollowing ? ["--follow", "--lines", "all"] : [];
  const from = since === undefined ? [] : ["--since", `${since.slice(0, 10)} ${since.slice(11, 19)} UTC`];
  return ["--unit", "waymark@*", "--output", "cat", "--no-pager", ...more, ...from];
}

function composeArguments({ since, isFollowing }: Reading): string[] {
  const more = [...(isFollowing ? ["--follow"] : []), ...(since === undefined ? [] : ["--since", since])];
  const services = ["trace-api", "analytics-api", "collector", "worker", "dashboard"];
  return ["compose", "logs", "--no-log-prefix", "--no-color", ...more, ...services];
}

function outputOf(
  command: string,
  args: readonly string[],
  where: { env: NodeJS.ProcessEnv; cwd?: string },
  signal: AbortSignal,
): Source {
  const child = spawn(command, args, { ...where, stdio: ["ignore", "pipe", "pipe"] });
  signal.addEventListener("abort", () => child.kill(), { once: true });
  child.stdout.once("close", () => child.kill());
  let said = "";
  child.stderr.on("data", (text) => {
    said = `${said}${text}`.slice(-2_000);
  });
  const ended = new Promise<void>((done, fail) => {
    child.once("error", (error: NodeJS.ErrnoException) =>
      fail(new CommandError(error.code === "ENOENT" ? `There is no ${command} on the PATH.` : error.message)),
    );
    child.once("close", (code) => {
      const reason = printable(said.trim().split("\n").at(-1) ?? "");
      if (code) fail(new CommandError(`${command} ended with ${code}: ${reason}`));
      else done();
    });
  });
  ended.catch(() => undefined);
  return { stream: child.stdout, ended };
}
