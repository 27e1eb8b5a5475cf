import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { findMutations, type Mutation } from "./mutations.js";
import { judges, type Suite } from "./suites.js";

/** A mutation of a file, and what the tests said. */
export interface Mutant extends Mutation {
  readonly file: string;
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
}

/** A mutant that waits without end is found out by then. */
const suiteTimeoutMs = 300_000;

/**
 * Plants mutations in the sources of a clone, one at a time, and runs the suites that judge the package until one fails. Each
 * source is put back, also after an error.
 * @throws Error where a suite fails without a mutation
 */
export function runMutants({ root, packages, count, random, say }: Options): Mutant[] {
  const run = (suite: Suite) => runSuite(root, suite);
  const suites = new Set(packages.flatMap((name) => judges[name] ?? []));
  for (const suite of suites) {
    say(`without a mutation: ${suite.folder} ${suite.patterns.join(" ")}`);
    if (run(suite) !== "passed") throw new Error(`The tests of ${suite.folder} fail without a mutation.`);
  }
  const places = new Map(packages.map((name) => [name, findPlaces(root, name)]));
  const mutants: Mutant[] = [];
  for (let index = 0; index < count; index++) {
    const name = packages[index % packages.length] ?? "";
    const left = places.get(name) ?? [];
    const [place] = left.splice(Math.floor(random() * left.length), 1);
    if (!place) continue;
    const mutant = judge(root, place, judges[name] ?? [], run);
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

function judge(root: string, place: Place, suites: readonly Suite[], run: (suite: Suite) => Verdict): Mutant {
  const path = join(root, place.file);
  const original = readFileSync(path, "utf8");
  const putBack = () => writeFileSync(path, original);
  process.once("exit", putBack);
  writeFileSync(path, place.source);
  try {
    for (const suite of suites) {
      const verdict = run(suite);
      if (verdict !== "passed") return { ...place, fate: verdict === "failed" ? "killed" : "hung", by: suite.folder };
    }
    return { ...place, fate: "survived" };
  } finally {
    putBack();
    process.off("exit", putBack);
  }
}

function findPlaces(root: string, name: string): Place[] {
  const folder = join(root, "packages", name, "src");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => /(?<!\.(test|fixture|d))\.ts$/.test(path))
    .map((path) => join(folder, path))
    .flatMap((path) =>
      findMutations(readFileSync(path, "utf8")).map((mutation) => ({ ...mutation, file: relative(root, path) })),
    );
}

type Verdict = "passed" | "failed" | "hung";

function runSuite(root: string, { folder, patterns }: Suite): Verdict {
  const jest = join(root, "packages/testing/bin/jest.mjs");
  const { status, error } = spawnSync(process.execPath, [jest, "--bail", "--silent", ...patterns], {
    cwd: join(root, folder),
    stdio: "ignore",
    timeout: suiteTimeoutMs,
    killSignal: "SIGKILL",
  });
  if (error) return "hung";
  return status === 0 ? "passed" : "failed";
}
