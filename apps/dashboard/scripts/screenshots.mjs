#!/usr/bin/env node
// `pnpm screenshots`: runs the local system with a new demo and takes the README's pictures of the dashboard, in both themes,
// with the Chromium on the PATH.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const folder = join(root, ".github/pictures");
const viewport = { width: 1280, height: 800 };

const dataFolder = await mkdtemp(join(tmpdir(), "waymark-screenshots-"));
const ports = { TRACE_API_PORT: "0", ANALYTICS_API_PORT: "0", COLLECTOR_PORT: "0", DASHBOARD_PORT: "0" };
const system = spawn(process.execPath, [join(root, "packages/local/dist/main.js"), "--demo"], {
  env: { ...process.env, ...ports, DASHBOARD_URL: "", DATABASE_URL: "", WAYMARK_DATA_DIR: join(dataFolder, "data") },
  stdio: ["ignore", "pipe", "inherit"],
});
const ended = once(system, "close");
try {
  await takePictures(await started());
} finally {
  system.kill("SIGTERM");
  await ended;
  await rm(dataFolder, { recursive: true, force: true });
}

/** The text of the started system. */
function started() {
  let output = "";
  return new Promise((resolve, reject) => {
    system.stdout.on("data", (chunk) => {
      output += chunk;
      if (output.includes("Ctrl-C stops")) resolve(output);
    });
    ended.then(() => reject(new Error(`The system ended: ${output}`)));
  });
}

async function takePictures(output) {
  const find = (pattern) => {
    const [, found] = pattern.exec(output) ?? [];
    if (!found) throw new Error(`The started system prints no ${pattern}:\n${output}`);
    return found;
  };
  const link = find(/dashboard +(http\S+\/dashboard\/link\/\S+)/);
  const ask = async (api, key, path) => {
    const headers = { Authorization: `Bearer ${find(key)}` };
    return (await fetch(`${find(api)}${path}`, { headers })).json();
  };
  const traceKey = /pro +account[\s\S]*?trace +(wmk_\S+)/;
  const failed = "/api/v1/traces?agent_id=market-research&status=error&limit=1";
  const { traces } = await ask(/trace API +(http\S+)/, traceKey, failed);
  const { sites } = await ask(/analytics API +(http\S+)/, /pro +account[\s\S]*?analytics +(wmk_\S+)/, "/api/v1/sites");
  const pages = {
    traces: "/dashboard/traces",
    trace: `/dashboard/traces/${traces[0].trace_id ?? traces[0].id}`,
    statistics: `/dashboard/sites/${sites[0].site_id ?? sites[0].id}?range=30d`,
  };
  await mkdir(folder, { recursive: true });
  const onPath = (process.env.PATH ?? "").split(delimiter).map((part) => join(part, "chromium"));
  const executablePath = onPath.find((file) => existsSync(file));
  if (!executablePath) throw new Error("There is no chromium on the PATH.");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-background-networking"] });
  try {
    const storageState = await signIn(browser, link);
    for (const colorScheme of ["light", "dark"]) {
      const context = await browser.newContext({
        baseURL: link,
        viewport,
        colorScheme,
        storageState,
        reducedMotion: "reduce",
      });
      const page = await context.newPage();
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(path, { waitUntil: "networkidle" });
        await page.getByRole("heading", { level: 1 }).waitFor();
        const file = join(folder, `${name}-${colorScheme}.png`);
        const { length } = await page.screenshot({ path: file });
        console.log(`${file} ${Math.round(length / 1_024)} KB`);
      }
      await context.close();
    }
  } finally {
    await browser.close();
  }
}

async function signIn(browser, link) {
  const context = await browser.newContext({ viewport });
  const page = await context.newPage();
  await page.goto(link);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL((url) => !url.pathname.includes("/link/"));
  const state = await context.storageState();
  await context.close();
  return state;
}
