import { type Browser, chromium, type Page } from "playwright-core";
import { type Figure, lowest, percentile } from "./figures.js";
import { largeTraceSpans, type Stage } from "./stage.js";

/** A page may work on for so long after its first row. */
const settleMs = 2_500;
const keyPresses = 100;
const scrolledFrames = 120;

/** The element that makes a page useful. */
const seen = {
  traces: 'table[aria-label="Traces"] tbody tr',
  trace: '[role="treeitem"][aria-selected="true"]',
  statistics: '[aria-label="Figures"]',
} as const;

/** Kept in the page, in milliseconds since its navigation began. */
interface Recorded {
  /** Lengths of long tasks. */
  long: number[];
  /** From a key's event to the end of the frame after it. */
  keys: number[];
  largestPaint: number;
  /** The end of the frame with the wanted element. */
  seenAt: number;
  requestsBefore: number;
}

const recorder = (selector: string) => `
  window.recorded = { long: [], keys: [], largestPaint: 0, seenAt: 0, requestsBefore: 0 };
  const observe = (type, take) => new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
  observe("longtask", ({ duration }) => recorded.long.push(duration));
  observe("largest-contentful-paint", ({ startTime }) => { recorded.largestPaint = startTime; });
  const afterFrame = (work) => requestAnimationFrame(() => setTimeout(work));
  const look = () => {
    if (!document.querySelector(${JSON.stringify(selector)})) return requestAnimationFrame(look);
    setTimeout(() => { recorded.seenAt = performance.now(); });
  };
  look();
  addEventListener("keydown", ({ timeStamp }) => afterFrame(() => recorded.keys.push(performance.now() - timeStamp)), true);`;

/** Requests that began before the page's own data had arrived, its document included. */
const readRecorded = (data: string) => `(() => {
  const requests = performance.getEntriesByType("resource");
  const answered = requests.find(({ name }) => name.endsWith(${JSON.stringify(data)}))?.responseEnd ?? Infinity;
  return { ...recorded, requestsBefore: requests.filter(({ startTime }) => startTime < answered).length + 1 };
})()`;

const scrollTree = `new Promise((resolve) => {
  const tree = document.querySelector("[role=tree]");
  const frames = [];
  let last = performance.now();
  tree.scrollTop = 0;
  requestAnimationFrame(function step() {
    const now = performance.now();
    frames.push(now - last);
    last = now;
    tree.scrollTop += 90;
    if (frames.length < ${scrolledFrames}) requestAnimationFrame(step);
    else resolve(frames);
  });
})`;

interface Visit {
  recorded: Recorded;
  page: Page;
}

/** Opens a page in a new profile, runs the work on it, and closes it. */
async function visit(
  { browser, stage }: { browser: Browser; stage: Stage },
  { path, selector, data = path, slowdown = 1 }: { path: string; selector: string; data?: string; slowdown?: number },
  work: (visit: Visit) => Promise<Figure[]>,
): Promise<Figure[]> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const [name = "", value = ""] = stage.cookie.split("=");
    await context.addCookies([{ name, value, url: stage.origin }]);
    await context.addInitScript(recorder(selector));
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
    await page.goto(`${stage.origin}/dashboard${path}`);
    await page.locator(selector).first().waitFor();
    await page.waitForTimeout(settleMs * slowdown);
    return await work({ page, recorded: await page.evaluate<Recorded>(readRecorded(data)) });
  } finally {
    await context.close();
  }
}

/** @returns figures of the long tasks of a visit to the large trace */
function loadFigures({ long, seenAt }: Recorded, suffix: string, [all, longest, sight]: readonly number[]): Figure[] {
  const name = `${largeTraceSpans} spans${suffix}`;
  const budgetOf = (budget: number | undefined) => (budget === undefined ? {} : { budget });
  return [
    {
      name: `${name}: long tasks in all`,
      value: long.reduce((sum, each) => sum + each, 0),
      unit: "ms",
      ...budgetOf(all),
    },
    { name: `${name}: longest task`, value: Math.max(0, ...long), unit: "ms", ...budgetOf(longest) },
    { name: `${name}: span in sight`, value: seenAt, unit: "ms", ...budgetOf(sight) },
  ];
}

async function keyFigures(page: Page, name: string, press: () => Promise<void>): Promise<Figure> {
  await page.evaluate("recorded.keys.length = 0");
  await press();
  await page.waitForTimeout(300);
  const keys = await page.evaluate<number[]>("recorded.keys");
  return { name: `${largeTraceSpans} spans: ${name}, p95`, value: percentile(keys, 0.95), unit: "ms", budget: 50 };
}

async function useTrace({ page, recorded }: Visit): Promise<Figure[]> {
  const frames = await page.evaluate<number[]>(scrollTree);
  const pressed = await keyFigures(page, "key pressed", async () => {
    for (let n = 0; n < keyPresses; n++) await page.keyboard.press("jjejkejl"[n % 8] ?? "j", { delay: 20 });
  });
  const typed = await keyFigures(page, "letter typed", async () => {
    await page.getByRole("searchbox", { name: "Find in this trace" }).focus();
    await page.keyboard.type("search direct flight command exited with model call", { delay: 40 });
  });
  const nodes = await page.evaluate<number>("document.querySelectorAll('*').length");
  return [
    ...loadFigures(recorded, "", [300, 120, 1_000]),
    ...[pressed, typed],
    { name: `${largeTraceSpans} spans: scrolling, frame p95`, value: percentile(frames, 0.95), unit: "ms", budget: 34 },
    { name: `${largeTraceSpans} spans: nodes of the document`, value: nodes, unit: "", budget: 1_500 },
    { name: "requests before the first row: trace", value: recorded.requestsBefore, unit: "", budget: 5 },
    { name: "largest paint: trace", value: recorded.largestPaint, unit: "ms", budget: 1_000 },
  ];
}

/** Every figure of the pages in Chromium, the best of so many rounds. */
export async function measurePages(stage: Stage, executablePath: string, rounds: number): Promise<Figure[]> {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const measured: Figure[][] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`round ${round + 1} of ${rounds}\n`);
      measured.push(await measureRound(browser, stage));
    }
  } finally {
    await browser.close();
  }
  return lowest(measured);
}

async function measureRound(browser: Browser, stage: Stage): Promise<Figure[]> {
  const stages = { browser, stage };
  const path = `/traces/${stage.traceId}`;
  const list = await visit(stages, { path: "/traces", selector: seen.traces }, async ({ recorded }) => [
    { name: "requests before the first row: traces", value: recorded.requestsBefore, unit: "", budget: 5 },
    { name: "largest paint: traces", value: recorded.largestPaint, unit: "ms", budget: 1_000 },
  ]);
  const statistics = await visit(
    stages,
    { path: `/sites/${stage.siteId}`, selector: seen.statistics },
    async ({ recorded }) => [
      { name: "largest paint: statistics", value: recorded.largestPaint, unit: "ms", budget: 1_000 },
    ],
  );
  const trace = await visit(stages, { path, selector: seen.trace, data: "/outline" }, useTrace);
  const slow = await visit(stages, { path, selector: seen.trace, slowdown: 4 }, async ({ recorded }) =>
    loadFigures(recorded, ", a quarter of the processor", [900, 300, 2_000]),
  );
  return [...list, ...statistics, ...trace, ...slow];
}
