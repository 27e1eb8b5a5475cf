import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createRandom } from "@waymark/local";
import { readOptions } from "@waymark/local/program-options";
import { describe, judges, runMutants } from "./run-mutants.js";

const purpose = `Plants small wrong changes in the sources of a clone without other changes, one at a time, and runs the tests until one
fails. Prints each mutant that all tests let pass. Exit status 1 tells that less than 90 of 100 died.`;

/** The share of mutants that must die. */
const leastKilled = 0.9;

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const say = (line: string) => void process.stdout.write(`${line}\n`);

const options = readOptions("pnpm mutate", purpose, {
  mutants: { takes: "NUMBER", default: 100, what: "how many" },
  only: { takes: Object.keys(judges), what: "one package" },
  seed: { takes: "NUMBER", what: "repeats the changes of a run" },
  json: { takes: "FILE", what: "also writes the mutants to a file" },
});
const { mutants: count, only, seed = 1 + (Date.now() % 1_000_000), json } = options;

function refuseChanges(): void {
  const git = spawnSync("git", ["status", "--porcelain", "--", "packages"], { cwd: root, encoding: "utf8" });
  if (git.status === 0 && git.stdout === "") return;
  say("This needs a clone without changes, since it changes sources and puts them back: commit or stash yours.");
  process.exit(2);
}

refuseChanges();
say(`Seed ${seed}`);
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
const packages = only === undefined ? Object.keys(judges) : [only];
const mutants = await runMutants({ root, packages, count, random: createRandom(seed).next, say, signal: stop.signal });
const survivors = mutants.filter(({ fate }) => fate === "survived");
const hung = mutants.filter(({ fate }) => fate === "hung");
const killed = mutants.length - survivors.length;
say(`\n${killed} of ${mutants.length} mutants died, ${hung.length} of them by hanging.`);
for (const mutant of survivors) say(describe(mutant));
if (json) writeFileSync(json, `${JSON.stringify(mutants, null, 2)}\n`);
process.exitCode = killed >= leastKilled * mutants.length ? 0 : 1;
