import { writeFile } from "node:fs/promises";
import { readOptions } from "@waymark/local/program-options";
import { auditAll } from "../load/audit.js";
import { onSystem, type ServiceName, serviceNames } from "../system/start-system.js";
import { openWire, type Wire } from "../system/wire.js";
import type { Scene } from "./fault.js";
import { faults } from "./faults.js";
import { formatReport, problemsOf } from "./report.js";
import { tryFault } from "./try-fault.js";

const purpose = `Runs the built system with a Postgres and a Redis of its own under load, causes one fault after the other, and compares
every acknowledged write, its counters, mails and webhooks with a ledger. Ends with 1 if anything is lost or doubled, a
request hangs or fails other than by 409, 429 or 503, or a service does not recover.`;

const say = (line: string) => void process.stderr.write(`${line}\n`);

const options = readOptions("pnpm chaos", purpose, {
  short: { what: "the faults that CI tries, in less than five minutes" },
  only: { takes: "TEXT", isMany: true, what: "faults whose names have this part" },
  seconds: { takes: "NUMBER", what: "how long a fault lasts: 4, with --short 2" },
  before: { takes: "CLONE", what: "a built clone of the version before, for a deploy of it and back" },
  json: { takes: "FILE", what: "also writes the results to a file" },
  list: { what: "lists the faults" },
});
const { short, only, before, seconds = short ? 2 : 4 } = options;
const chosen = faults.filter(
  ({ name, isShort }) => (!short || isShort) && (only.length === 0 || only.some((part) => name.includes(part))),
);
if (options.list) process.stdout.write(faults.map(({ name, what }) => `${name.padEnd(22)}${what}\n`).join(""));
else if (chosen.length > 0) await tryAll();
else {
  say("No fault has such a name; --list shows all.");
  process.exitCode = 2;
}

async function tryAll(): Promise<void> {
  await onSystem({ isOwnDiskWanted: true }, async (system, undo) => {
    const wires = new Map<ServiceName, Wire>();
    for (const name of serviceNames) wires.set(name, await openWire(Number(new URL(system.url(name)).port), undo));
    const url = (name: ServiceName) => `http://127.0.0.1:${wires.get(name)?.port}`;
    const results = await tryEach({ system, url, clientWires: [...wires.values()], seconds, before, undo });
    process.stdout.write(formatReport(results));
    if (options.json) await writeFile(options.json, `${JSON.stringify(results, null, 2)}\n`);
    process.exitCode = results.messages.length > 0 || results.rows.some((row) => problemsOf(row).length > 0) ? 1 : 0;
  });
}

/** Tries the faults, then compares all writes with the rows, mails and webhooks. */
async function tryEach(scene: Scene) {
  const trials: Awaited<ReturnType<typeof tryFault>>[] = [];
  const skipped: string[] = [];
  for (const [number, fault] of chosen.entries()) {
    const missing = fault.missing?.(scene);
    if (missing) skipped.push(`${fault.name}, which needs ${missing}`);
    else trials.push(await tryFault(fault, scene, number));
    say(`${number + 1} of ${chosen.length}: ${fault.name}${missing ? " (not tried)" : ""}`);
  }
  const { findings, strays } = await auditAll(
    scene.system,
    trials.flatMap(({ tenants }) => tenants),
  );
  const rows = trials.map(({ tenants, ...trial }) => {
    const own = findings.splice(0, tenants.length);
    return { ...trial, lost: own.flatMap(({ lost }) => lost), doubled: own.flatMap(({ doubled }) => doubled) };
  });
  return { rows, messages: strays, skipped };
}
