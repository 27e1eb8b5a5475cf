import { writeFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { auditAlerts, auditReceiver, countOwed } from "../load/audit.js";
import { type Addresses, openStage, type Stage } from "../load/stage.js";
import { openWire, type Wire } from "../system/wire.js";
import type { Fault, Scene } from "./fault.js";
import { faults } from "./faults.js";
import { formatReport, problemsOf } from "./report.js";
import { type Trial, tryFault } from "./try-fault.js";

const help = `usage: pnpm chaos [--short] [--only FAULT]... [--seconds 4] [--before CLONE] [--json FILE] [--list]

Runs the built system with a Postgres and a Redis of its own under load, causes one fault after the other, and compares
every acknowledged write, its counters, mails and webhooks with a ledger. Ends with 1 if anything is lost or doubled, a
request hangs or fails other than by 409, 429 or 503, or a service does not recover.

  --short    the faults that CI tries, in less than five minutes
  --only     faults whose names have this part
  --seconds  how long a fault lasts
  --before   a built clone of the version before, for a deploy of it and back
  --json     also writes the results to a file
  --list     lists the faults
`;

/** Mails and webhooks are tried again after half a minute at most, and twice as long after each failure. */
const drainMs = 420_000;
const say = (line: string) => void process.stderr.write(`${line}\n`);

/** @returns the exit code: 0, 1 if a promise is broken, 2 for wrong arguments */
async function runChaos(args: readonly string[]): Promise<number> {
  const values = readOptions(args);
  const seconds = Number(values.seconds ?? (values.short ? 2 : 4));
  const chosen = faults.filter(
    ({ name, isShort }) => (!values.short || isShort) && (values.only ?? [""]).some((part) => name.includes(part)),
  );
  if (values.list) {
    process.stdout.write(faults.map(({ name, what }) => `${name.padEnd(22)}${what}\n`).join(""));
    return 0;
  }
  if (values.help || !(seconds > 0) || chosen.length === 0) {
    process.stdout.write(help);
    return values.help ? 0 : 2;
  }
  const stage = await openStage({ say: () => undefined, isOwnDiskWanted: true });
  const ends: (() => Promise<unknown>)[] = [];
  try {
    const scene = { ...stage, seconds, before: values.before, clientWires: [] };
    return await tryAll({ ...scene, atEnd: (step) => ends.push(step) }, chosen, values);
  } finally {
    for (const step of ends) await step();
    await stage.stop();
  }
}

function readOptions(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      short: { type: "boolean", default: false },
      only: { type: "string", multiple: true },
      seconds: { type: "string" },
      before: { type: "string" },
      json: { type: "string" },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  return values;
}

async function tryAll(
  stage: Scene,
  chosen: readonly Fault[],
  { json }: ReturnType<typeof readOptions>,
): Promise<number> {
  const { urls, clientWires } = await openClientWires(stage);
  const scene = { ...stage, clientWires };
  const trials: Trial[] = [];
  const skipped: string[] = [];
  try {
    for (const [number, fault] of chosen.entries()) {
      const missing = fault.missing?.(scene);
      if (missing) skipped.push(`${fault.name}, which needs ${missing}`);
      else trials.push(await tryFault(fault, scene, urls, number));
      say(`${number + 1} of ${chosen.length}: ${fault.name}${missing ? " (not tried)" : ""}`);
    }
    const { rows, messages } = await settle(stage, trials);
    process.stdout.write(formatReport(rows, skipped, messages));
    if (json) await writeFile(json, `${JSON.stringify({ rows, messages, skipped }, null, 2)}\n`);
    return messages.length > 0 || rows.some((row) => problemsOf(row).length > 0) ? 1 : 0;
  } finally {
    await Promise.all(clientWires.map((wire) => wire.close()));
  }
}

/** The addresses by which clients reach the services. */
async function openClientWires({ urls }: Stage): Promise<{ urls: Addresses; clientWires: Wire[] }> {
  const clientWires: Wire[] = [];
  const open = async (url: string) => {
    const wire = await openWire(Number(new URL(url).port));
    clientWires.push(wire);
    return `http://127.0.0.1:${wire.port}`;
  };
  const [trace, analytics] = [await open(urls.trace), await open(urls.analytics)];
  const [collector, dashboard] = [await open(urls.collector), await open(urls.dashboard)];
  return { urls: { trace, analytics, collector, dashboard }, clientWires };
}

/** Waits for the mails and webhooks of all trials, and compares them with the alerts. */
async function settle({ system, receiver }: Stage, trials: readonly Trial[]) {
  const tenants = trials.flatMap((trial) => trial.tenants);
  for (const end = Date.now() + drainMs; Date.now() < end && (await countOwed(system.pool, tenants)) > 0; )
    await wait(500);
  const rows = [];
  for (const { tenants: own, lost, ...trial } of trials) {
    const found = await Promise.all(own.map((tenant) => auditAlerts(system.pool, tenant, receiver)));
    rows.push({ ...trial, lost: [...lost, ...found.flatMap((each) => each.lost)] });
  }
  return { rows, messages: await auditReceiver(system.pool, tenants, receiver) };
}

process.exitCode = await runChaos(process.argv.slice(2));
