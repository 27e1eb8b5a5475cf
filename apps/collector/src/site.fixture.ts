import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

/** Folders of the clients from npm, as published. */
const clients: Record<string, string> = {
  "plausible-tracker": join(dirname(require.resolve("plausible-tracker/package.json")), "build/module"),
  "plausible-analytics": dirname(require.resolve("@plausible-analytics/tracker")),
};

/** A web site on this machine: pages by path, and the clients from npm below `/npm/`. */
export interface TestSite {
  readonly port: number;
  /** Requested paths, in order. */
  readonly asked: string[];
  setPage(path: string, html: string): void;
  close(): Promise<void>;
}

/** Opens the site; a path without a page gives an empty one. */
export async function openSite(): Promise<TestSite> {
  const pages = new Map<string, string>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site");
    asked.push(pathname);
    const [, npm, client = "", ...rest] = pathname.split("/");
    if (npm === "npm") {
      const file = rest.join("/").replace(/(\.js)?$/, ".js");
      response.setHeader("Content-Type", "text/javascript");
      response.end(readFileSync(join(clients[client] ?? "", file)));
      return;
    }
    response.setHeader("Content-Type", "text/html; charset=utf-8");
    response.end(`<!doctype html><title>${pathname}</title>${pages.get(pathname) ?? ""}`);
  });
  await listen(server);
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    setPage: (path, html) => void pages.set(path, html),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function listen(server: Server): Promise<void> {
  server.listen(0);
  await once(server, "listening");
}
