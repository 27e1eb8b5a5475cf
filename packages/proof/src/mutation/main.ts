import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createRandom } from "@waymark/local";
import { describe, judges, runMutants } from "./run-mutants.js";

const usage = `usage: pnpm mutate [--mutants 100] [--only ${Object.keys(judges).join("|")}] [--seed N] [--json FILE]
Plants small wrong changes in the sources of a clone without other changes, one at a time, and runs the tests until one
fails. Prints each mutant that all tests let pass. Exit status 1 tells that less than 90 of 100 died.`;

/** The share of mutants that must die. */
const leastKilled = 0.9;

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const say = (line: string) => void process.stdout.write(`${line}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: {
      mutants: { type: "string", default: "100" },
      only: { type: "string" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      json: { type: "string" },
      help: { type: "boolean" },
    },
  });
  const [count, seed, { only, json }] = [Number(values.mutants), Number(values.seed), values];
  const isUsable = Number.isSafeInteger(count) && count > 0 && Number.isSafeInteger(seed);
  if (values.help || !isUsable || (only !== undefined && !(only in judges))) {
    say(usage);
    process.exit(values.help ? 0 : 2);
  }
  return { count, seed, json, packages: only === undefined ? Object.keys(judges) : [only] };
}

function refuseChanges(): void {
  const { stdout, status } = spawnSync("git", ["status", "--porcelain", "--", "packages"], {
    cwd: root,
    encoding: "utf8",
  });
  if (status === 0 && stdout === "") return;
  say("This needs a clone without changes, since it changes sources and puts them back: commit or stash yours.");
  process.exit(2);
}

const { count, seed, json, packages } = readOptions();
refuseChanges();
say(`Seed ${seed}`);
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
const mutants = await runMutants({ root, packages, count, random: createRandom(seed).next, say, signal: stop.signal });
const survivors = mutants.filter(({ fate }) => fate === "survived");
const killed = mutants.length - survivors.length;
say(
  `\n${killed} of ${mutants.length} mutants died, ${mutants.filter(({ fate }) => fate === "hung").length} of them by hanging.`,
);
for (const mutant of survivors) say(describe(mutant));
if (json)
  writeFileSync(
    json,
    `${JSON.stringify(
      mutants.map(({ source: _source, ...rest }) => rest),
      null,
      2,
    )}\n`,
  );
process.exitCode = killed >= leastKilled * mutants.length ? 0 : 1;
