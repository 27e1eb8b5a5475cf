import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect } from "@jest/globals";
import { built, chromiumFlags } from "@waymark/testing";
import type { AxeResults } from "axe-core";
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from "playwright-core";
import { type DashboardOptions, type SignedIn, type TestDashboard, useDashboard } from "./dashboard.fixture.js";
import { readPages } from "./pages/pages.js";

interface Look {
  width?: number;
  height?: number;
  theme?: "light" | "dark";
  /** The machine's zone if omitted. */
  zone?: string;
  /** Stays open for the file's other tests: a new profile costs half a second of processor time. */
  isKept?: true;
}

/** The built dashboard on a loopback port, with Chromium in front. */
export interface TestBrowser {
  readonly dashboard: TestDashboard;
  readonly origin: string;
  /** Requests of the present test, in order, as `GET /dashboard/api/me`. */
  readonly requests: readonly string[];
  clearRequests(): void;
  /** Opens a tab in a new profile, signed in or not. Paths are relative: `page.goto("/dashboard/traces")`. */
  page(as?: SignedIn, look?: Look): Promise<Page>;
  /** What axe finds on the page, as `rule: element`; WCAG 2.2 AA and its best practices, or the named rules alone. */
  findings(page: Page, rules?: readonly string[]): Promise<string[]>;
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let opened: Promise<Browser> | undefined;

/** One Chromium for all files of a process; another one after its crash. */
function openChromium(executablePath: string): Promise<Browser> {
  opened ??= chromium.launch({ executablePath, args: chromiumFlags }).then((browser) => {
    process.once("disconnect", () => void browser.close());
    browser.once("disconnected", () => {
      opened = undefined;
    });
    return browser;
  });
  return opened;
}

/**
 * Serves the built dashboard to Chromium. A test fails for a violated content policy, an error on the page, and a request
 * that leaves the origin. Call it in the suite of `describeWithChromium`.
 */
export function useBrowser(
  executablePath: string,
  { otherOrigin, ...options }: DashboardOptions & { otherOrigin?: string } = {},
): TestBrowser {
  const dashboard = useDashboard({ pages: readPages(built(new URL("../dist/web/", import.meta.url))), ...options });
  const contexts: BrowserContext[] = [];
  const kept: BrowserContext[] = [];
  const requests: string[] = [];
  const problems: string[] = [];
  let browser: Browser;
  let server: Server;
  let origin = "";

  beforeAll(async () => {
    const { hostname, port } = new URL(options.env?.["DASHBOARD_URL"] ?? "http://127.0.0.1");
    server = createServer((request, response) => dashboard.app(request, response)).listen(Number(port), "127.0.0.1");
    [browser] = await Promise.all([openChromium(executablePath), once(server, "listening")]);
    origin = `http://${hostname}:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    requests.length = 0;
    expect(problems.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await Promise.all(kept.map((context) => context.close()));
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
  });

  return {
    dashboard,
    get origin() {
      return origin;
    },
    requests,
    clearRequests: () => void requests.splice(0),
    async page(as, { width = 1440, height = 900, theme = "light", zone, isKept } = {}) {
      const viewport = { width, height };
      const look = { viewport, colorScheme: theme, ...(zone !== undefined && { timezoneId: zone }) };
      const context = await browser.newContext({ baseURL: origin, ...look });
      (isKept ? kept : contexts).push(context);
      // A loaded machine fails no test: jest ends one that hangs.
      context.setDefaultTimeout(0);
      if (as) {
        const [name = "", value = ""] = as.cookie.split("=");
        await context.addCookies([{ name, value, url: origin, httpOnly: true, sameSite: "Lax" }]);
      }
      watch(context, { origin, otherOrigin, requests, problems });
      return context.newPage();
    },
    findings,
  };
}

interface Log {
  origin: string;
  /** Where the browser may go too, as to a provider of sign-ins. */
  otherOrigin: string | undefined;
  requests: string[];
  problems: string[];
}

const violationMark = "Content policy violated:";

function watch(context: BrowserContext, { origin, otherOrigin, requests, problems }: Log): void {
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin === origin) requests.push(`${request.method()} ${url.pathname}${url.search}`);
    else if (url.origin !== otherOrigin && url.protocol.startsWith("http"))
      problems.push(`left the origin: ${url.href}`);
  });
  context.on("weberror", (error) => problems.push(String(error.error())));
  context.on("console", (message) => {
    if (message.text().startsWith(violationMark)) problems.push(message.text());
  });
  // Text, since the browser's types are not the server's.
  void context.addInitScript(
    `addEventListener("securitypolicyviolation", (event) => console.log(
      "${violationMark}", event.effectiveDirective, event.blockedURI, event.sourceFile, event.lineNumber, event.sample))`,
  );
}

/** The tabs that axe looked at: a world keeps its script until the next navigation, as long as its session lasts. */
const sessions = new WeakMap<Page, CDPSession>();

/** Runs axe in a world of its own, so that the page's content policy stays as it is. */
async function findings(page: Page, rules?: readonly string[]): Promise<string[]> {
  const session = sessions.get(page) ?? (await page.context().newCDPSession(page));
  sessions.set(page, session);
  const { frameTree } = await session.send("Page.getFrameTree");
  const world = { frameId: frameTree.frame.id, worldName: "axe" };
  const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", world);
  const has = await session.send("Runtime.evaluate", { expression: "typeof axe", contextId });
  if (has.result.value === "undefined") await session.send("Runtime.evaluate", { expression: axe, contextId });
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    expression: `axe.run(document, ${JSON.stringify({ resultTypes: ["violations"], ...(rules && { runOnly: rules }) })})`,
    awaitPromise: true,
    returnByValue: true,
    contextId,
  });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  const { violations } = result.value as AxeResults;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary?.split("\n").at(-1)}`),
  );
}
