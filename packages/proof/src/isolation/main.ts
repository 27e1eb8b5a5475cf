import { parseArgs } from "node:util";
import { onSystem } from "../system/start-system.js";
import { startMessageReceiver } from "./receiver.js";
import { isolationSettings, runIsolation } from "./run-isolation.js";

const usage = `usage: pnpm isolation [--operations 10000] [--seed N] [--costly]
Several accounts do random operations through every path of the built services, with own, foreign and missing ids. Exit
status 1 tells that somebody saw or changed another's data, or that a path is not in routes.ts.
  --costly  one account more sends requests at the maxima of their limits, and the witness's small requests must not wait`;

const say = (line: string) => void process.stdout.write(`${line}\n`);
const { values } = parseArgs({
  options: {
    operations: { type: "string", default: "10000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    costly: { type: "boolean", default: false },
    help: { type: "boolean" },
  },
});
const [operations, seed] = [Number(values.operations), Number(values.seed)];
if (values.help || !(Number.isSafeInteger(operations) && operations > 0 && Number.isSafeInteger(seed))) {
  say(usage);
  process.exit(values.help ? 0 : 2);
}
say(`Seed ${seed}`);
const receiver = await startMessageReceiver();
const sayTroubles = (line: string) => void (/: (warn|error): /.test(line) && say(line));
await onSystem({ isDirect: true, env: isolationSettings(receiver.url), say: sayTroubles }, async (system) => {
  const result = await runIsolation(system, { operations, seed, receiver, isCostly: values.costly, say });
  const { foreign, events, messages, failures, untried } = result;
  say(`${result.operations} operations, ${foreign} with another's ids; ${events} live events, ${messages} messages`);
  for (const name of untried) say(`Never succeeded for its own tenant: ${name}`);
  say(`${failures.length} failures`);
  process.exitCode = failures.length === 0 ? 0 : 1;
});
await receiver.close();
