import { accessSync, constants } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { delimiter, join } from "node:path";
import { parseArgs } from "node:util";
import { readPages } from "../src/pages/pages.js";
import { measureSizes } from "../src/pages/sizes.fixture.js";
import { type Figure, formatFigures, isOver } from "./figures.js";
import { measurePages } from "./measure-pages.js";
import { measureAnswers, measureIdle, measureViewers } from "./measure-server.js";
import { withStage } from "./stage.js";

const usage = `pnpm bench dashboard [--rounds 3] [--save]

Measures the built dashboard on a Postgres of its own, in the Chromium on the PATH, and prints each figure beside its budget:
sizes, requests, long tasks and keys in a trace of 10,000 spans, the server's processor time, and its memory. Figures of pages
are the lowest of the rounds, since other work on the machine only adds. It ends with 1 where a figure is over its budget.
  --rounds   how often each page is opened
  --save     keeps the report in apps/dashboard/bench/results
`;

const report = new URL("../../results/dashboard.txt", import.meta.url);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: "boolean", default: false },
      rounds: { type: "string", default: "3" },
      save: { type: "boolean", default: false },
    },
  });
  const rounds = Number(values.rounds);
  if (values.help || !(Number.isInteger(rounds) && rounds > 0)) {
    process.stdout.write(usage);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  const chromium = findChromium();
  if (chromium === undefined) {
    process.stderr.write("There is no chromium on the PATH. Debian's package is `chromium`.\n");
    process.exitCode = 2;
    return;
  }
  await withStage(async (stage) => {
    const idle = measureIdle(stage);
    const figures = [...sizeFigures(), ...(await measurePages(stage, chromium, rounds))];
    figures.push(...(await measureAnswers(stage)), idle, await measureViewers(stage));
    const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), Node ${process.versions.node}`;
    const text = `${machine}, ${new Date().toISOString().slice(0, 10)}; pages: the best of ${rounds}\n\n${formatFigures(figures)}\n`;
    process.stdout.write(`\n${text}`);
    if (values.save) {
      await mkdir(new URL(".", report), { recursive: true });
      await writeFile(report, text);
    }
    if (figures.some(isOver)) process.exitCode = 1;
  });
}

function findChromium(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter(Boolean);
  return folders
    .map((folder) => join(folder, "chromium"))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

function sizeFigures(): Figure[] {
  const { first, parts, scripts, styles } = measureSizes(readPages(new URL("../../../dist/web/", import.meta.url)));
  const figure = (name: string, bytes: number, budget: number) => ({
    name: `${name}, gzip`,
    value: bytes / 1_000,
    unit: "KB",
    budget,
    digits: 1,
  });
  return [
    figure("script of the first load", first, 60),
    figure("largest later part", Math.max(...parts.map(({ size }) => size)), 25),
    figure("script in all", scripts, 120),
    figure("styles", styles, 12),
  ];
}

await main();
