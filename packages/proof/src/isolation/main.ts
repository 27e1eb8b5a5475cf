import { readOptions } from "@waymark/local/program-options";
import { onSystem } from "../system/start-system.js";
import { isolationSettings, runIsolation } from "./run-isolation.js";

const purpose = `Several accounts do random operations through every path of the built services, with own, foreign and missing ids. Exit
status 1 tells that somebody saw or changed another's data.`;

const {
  operations,
  seed = 1 + (Date.now() % 1_000_000),
  costly,
} = readOptions("pnpm isolation", purpose, {
  operations: { takes: "NUMBER", default: 10_000, what: "how many" },
  seed: { takes: "NUMBER", what: "repeats the choices of a run" },
  costly: {
    what: "one account more sends requests at the maxima of their limits; the witness's must not wait meanwhile",
  },
});
const say = (line: string) => void process.stdout.write(`${line}\n`);

say(`Seed ${seed}`);
await onSystem({ isDirect: true, env: isolationSettings, say }, async (system) => {
  const result = await runIsolation(system, { operations, seed, costly, say });
  const { foreign, events, messages, failures, untried } = result;
  say(`${result.operations} operations, ${foreign} with another's ids; ${events} live events, ${messages} messages`);
  for (const name of untried) say(`Never succeeded for its own tenant: ${name}`);
  say(`${failures.length} failures`);
  process.exitCode = failures.length === 0 ? 0 : 1;
});
