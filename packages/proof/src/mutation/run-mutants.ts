import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { findMutations, type Mutation } from "./mutations.js";

/** A mutation of a file, and what the tests said. */
interface Mutant extends Omit<Place, "source"> {
  readonly fate: "killed" | "hung" | "survived";
  /** The suite that failed. */
  readonly by?: string;
}

interface Options {
  readonly root: string;
  readonly packages: readonly string[];
  readonly count: number;
  /** From 0 to below 1. */
  random(): number;
  say(line: string): void;
  /** Ends the tests in hand; the mutants so far are the result. */
  signal: AbortSignal;
}

type Verdict = "passed" | "failed" | "hung";

/** Test files that run together. */
interface Round {
  readonly by: string;
  readonly files: readonly string[];
  readonly limitMs: number;
}

const firstLimitMs = 900_000;
/** A mutant that takes so many times as long, and half a minute, waits without end. */
const patience = { times: 4, moreMs: 30_000 };

/**
 * Plants mutations in the sources of a clone, one at a time, and runs the suites that judge the package until one fails. Each
 * source is put back, also after an error.
 * @throws Error where a suite fails without a mutation
 */
export async function runMutants({ root, packages, count, random, say, signal }: Options): Promise<Mutant[]> {
  const run = (files: readonly string[], limitMs: number) => runTests(root, files, { limitMs, signal });
  const rounds = new Map<Suite, Round>();
  for (const suite of new Set(packages.flatMap((name) => judges[name] ?? []))) {
    const files = findTests(root, suite);
    const began = performance.now();
    const verdict = await run(files, firstLimitMs);
    if (signal.aborted) return [];
    if (verdict !== "passed") throw new Error(`The tests of ${suite.folder} fail without a mutation.`);
    const ms = performance.now() - began;
    rounds.set(suite, { by: suite.folder, files, limitMs: patience.times * ms + patience.moreMs });
    say(`without a mutation: ${suite.folder} ${suite.patterns.join(" ")} ${Math.round(ms / 1_000)} s`);
  }
  const judge = async ({ source, ...place }: Place, own: readonly Round[]): Promise<Mutant> => {
    const path = join(root, place.file);
    const original = readFileSync(path, "utf8");
    const folder = dirname(path);
    const beside = readdirSync(folder).filter(isTest);
    const nearest = { by: dirname(place.file), files: beside.map((name) => join(folder, name)) };
    writeFileSync(path, source);
    try {
      for (const { by, files, limitMs } of [{ ...own[0], ...nearest }, ...own]) {
        const verdict = files.length > 0 ? await run(files, limitMs ?? firstLimitMs) : "passed";
        if (verdict !== "passed") return { ...place, fate: verdict === "failed" ? "killed" : "hung", by };
      }
      return { ...place, fate: "survived" };
    } finally {
      writeFileSync(path, original);
    }
  };
  const places = new Map(packages.map((name) => [name, findPlaces(root, name)]));
  const mutants: Mutant[] = [];
  for (let index = 0; index < count && !signal.aborted; index++) {
    const name = packages[index % packages.length] ?? "";
    const left = places.get(name) ?? [];
    const [place] = left.splice(Math.floor(random() * left.length), 1);
    if (!place) continue;
    const mutant = await judge(
      place,
      (judges[name] ?? []).flatMap((suite) => rounds.get(suite) ?? []),
    );
    if (signal.aborted) break;
    mutants.push(mutant);
    say(`${mutants.length}: ${describe(mutant)}`);
  }
  return mutants;
}

/** A mutant in one line. */
export function describe({ fate, by, file, line, before, after }: Mutant): string {
  return `${fate}${by ? ` by ${by}` : ""}: ${file}:${line}\n    ${before}\n    ${after || "(nothing)"}`;
}

type Place = Mutation & { readonly file: string };

function findPlaces(root: string, name: string): Place[] {
  const folder = join(root, "packages", name, "src");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => /(?<!\.(test|fixture|d))\.ts$/.test(path))
    .map((path) => join(folder, path))
    .flatMap((path) =>
      findMutations(readFileSync(path, "utf8")).map((mutation) => ({ ...mutation, file: relative(root, path) })),
    );
}

const isTest = (path: string) => path.endsWith(".test.ts");

function findTests(root: string, { folder, patterns }: Suite): string[] {
  const found = readdirSync(join(root, folder, "src"), { recursive: true, encoding: "utf8" })
    .map((path) => join("src", path))
    .filter((path) => isTest(path) && (patterns.length === 0 || patterns.some((each) => new RegExp(each).test(path))));
  if (found.length === 0) throw new Error(`No test of ${folder} is called ${patterns.join(" or ")}.`);
  return found.map((path) => join(root, folder, path));
}

function runTests(
  root: string,
  files: readonly string[],
  { limitMs, signal }: { limitMs: number; signal: AbortSignal },
): Promise<Verdict> {
  const program = join(root, "packages/testing/bin/run.mjs");
  return new Promise((resolve) => {
    const args = [program, JSON.stringify({ files }), "--bail", "--silent"];
    // A group of its own: tests run in processes of the started one.
    const child = spawn(process.execPath, args, { cwd: root, stdio: "ignore", detached: true });
    let isHung = false;
    const end = () => child.pid && process.kill(-child.pid, "SIGKILL");
    const timer = setTimeout(() => {
      isHung = true;
      end();
    }, limitMs);
    signal.addEventListener("abort", end);
    child.on("exit", (code) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve(isHung ? "hung" : code === 0 ? "passed" : "failed");
    });
  });
}

/** Tests of one package whose paths have one of the patterns; all without patterns. */
interface Suite {
  readonly folder: string;
  readonly patterns: readonly string[];
}

const suite = (folder: string, ...patterns: string[]): Suite => ({ folder, patterns });

/** For each tested package the suites that judge it, the quickest first: a mutant dies at the first failure. */
export const judges: Readonly<Record<string, readonly Suite[]>> = {
  auth: [
    suite("packages/auth"),
    suite("apps/analytics-api", "src/app.test", "src/shared-keys"),
    suite("apps/trace-api", "service-tests/app.test", "limits/"),
  ],
  plan: [
    suite("packages/plan"),
    suite("packages/service", "src/limits/"),
    suite("apps/analytics-api", "src/app.test", "src/rate-limit"),
    suite("apps/trace-api", "service-tests/app.test", "limits/"),
  ],
  "web-stats": [
    suite("packages/web-stats"),
    suite("apps/analytics-api", "src/stats", "src/goals", "src/events", "src/realtime"),
    suite("apps/collector", "src/event", "src/app.test", "src/hostile"),
    suite("apps/worker", "src/retention"),
    suite("packages/cli", "commands/import", "src/imports"),
  ],
  traces: [
    suite("packages/traces"),
    suite(
      "apps/trace-api",
      ...["traces", "spans", "agents", "failures", "usage", "scores", "stream"].map((it) => `src/${it}/`),
    ),
    suite("apps/trace-api", "src/model-calls", "src/otlp/otlp.route", "src/otlp/otlp-recordings"),
    suite("apps/worker", "src/store-blocks", "src/settle-calls"),
    suite("apps/dashboard", "src/trace/get-", "src/traces/.*route", "src/agents/.*route", "src/failures/.*route"),
  ],
  alerts: [
    suite("packages/alerts"),
    suite("apps/worker", "src/alerts", "src/channels", "src/stale-traces", "src/retention"),
    suite("apps/trace-api", "traces/finalize", "traces/alert-queue"),
    suite("packages/cli", "commands/channels", "commands/mutes"),
    suite("apps/dashboard", "src/alerts/.*route", "src/channels/.*route"),
  ],
};
