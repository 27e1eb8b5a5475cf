import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { formatTable } from "../load/table.js";
import { type BenchCell, startBenchCell } from "./bench-cell.js";

const usage = `usage: pnpm bench cells [--cells 2] [--seconds 5] [--rounds 3]
Writes recorded traces to one cell and to several at once, in turns. Each cell has a Postgres and a trace-api of its own,
and with its client the one core of its number. It needs Linux.`;

const say = (line: string) => void process.stdout.write(`${line}\n`);
const { values } = parseArgs({
  args: process.argv.slice(2).filter((arg) => arg !== "--"),
  options: {
    cells: { type: "string", default: "2" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    help: { type: "boolean" },
  },
});
const [count, seconds, rounds] = [Number(values.cells), Number(values.seconds), Number(values.rounds)];
if (values.help || ![count, seconds, rounds].every((number) => Number.isSafeInteger(number) && number > 0)) {
  say(usage);
  process.exit(values.help ? 0 : 2);
}
if (count > availableParallelism()) {
  say(`${count} cells need ${count} cores; this machine has ${availableParallelism()}.`);
  process.exit(2);
}
const folder = await mkdtemp(join(tmpdir(), "waymark-cells-"));
const cells: BenchCell[] = [];
try {
  for (let core = 0; core < count; core++) cells.push(await startBenchCell(join(folder, String(core)), core));
  const rows = [["spans a second", "one cell", `${count} cells`, "ratio"]];
  for (let round = 1; round <= rounds; round++) {
    // Each cell in turn stands for the one, since cores differ.
    const one = await cells[round % count]?.write(seconds);
    const all = (await Promise.all(cells.map((cell) => cell.write(seconds)))).reduce((sum, spans) => sum + spans, 0);
    rows.push([
      `round ${round}`,
      ...[one ?? 0, all].map((spans) => String(Math.round(spans))),
      (all / (one ?? 1)).toFixed(2),
    ]);
  }
  say(`${cpus().length} CPUs, ${cpus()[0]?.model}, Node ${process.versions.node}\n\n${formatTable(rows)}`);
} finally {
  for (const cell of cells) await cell.stop();
  await rm(folder, { recursive: true, force: true });
}
