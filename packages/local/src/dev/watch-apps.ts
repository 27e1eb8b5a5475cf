import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { AppProcess } from "../app-process.js";
import { isAppSource, sourceFoldersOf } from "./app-sources.js";
import { watchFolders } from "./watch-folders.js";

export interface WatchAppsOptions<Name extends string> {
  root: string;
  names: readonly Name[];
  /** Starts an app from its sources. */
  start(name: Name): AppProcess;
  say(line: string): void;
}

/** An editor writes a file in several steps, and a change of branch writes many files. */
const settleMs = 100;

/** Long enough for an app without clients to stop in order; a kill loses nothing either. */
const stopTimeoutMs = 1_000;

/**
 * Starts apps, and restarts an app when the content of its files or its packages' files changes. An app that ends, such as by a syntax error,
 * starts again after the next change.
 */
export function watchApps<Name extends string>(options: WatchAppsOptions<Name>): AppProcess[] {
  const { root, names, say } = options;
  const apps = names.map((name) => ({
    ...keepApp(() => options.start(name), say),
    folders: sourceFoldersOf(root, name),
  }));
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const restart = () => {
    const paths = [...changed].filter(isChanged);
    changed.clear();
    for (const app of apps) {
      const path = paths.find((it) => app.folders.some((folder) => it.startsWith(`${folder}/`)));
      if (path) app.restart(path);
    }
  };
  const folders = new Set(apps.flatMap((app) => app.folders));
  const watched = [...folders].flatMap((folder) =>
    ["src", "assets", "dist/web"].map((part) => join(root, folder, part)),
  );
  const isChanged = rememberContents(root, watched);
  const close = watchFolders(watched, (path) => {
    if (!isAppSource(path)) return;
    changed.add(relative(root, path).split(sep).join("/"));
    clearTimeout(timer);
    timer = setTimeout(restart, settleMs);
  });
  return apps.map(({ app }) => ({
    ...app,
    async stop() {
      clearTimeout(timer);
      close();
      await app.stop();
    },
  }));
}

/**
 * Reads all sources in folders. A build generates the Prisma client again, so a written file may have its old content.
 * @returns whether a file, as a path from the root, has another content than at the last call for it
 */
function rememberContents(root: string, folders: readonly string[]): (path: string) => boolean {
  const digests = new Map<string, string>();
  const isChanged = (path: string) => {
    const before = digests.get(path);
    const digest = digestOf(join(root, path));
    digests.set(path, digest);
    return digest !== before;
  };
  for (const folder of folders.filter((it) => existsSync(it))) {
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(isAppSource)) {
      isChanged(relative(root, join(folder, name)).split(sep).join("/"));
    }
  }
  return isChanged;
}

/** A digest of a file's content; empty without a file. */
function digestOf(file: string): string {
  try {
    return createHash("sha256").update(readFileSync(file)).digest("hex");
  } catch {
    return "";
  }
}

/** A restartable app; it counts as running until `stop`. */
function keepApp(start: () => AppProcess, say: (line: string) => void) {
  let current: AppProcess;
  let change: string | undefined;
  let isRestarting = false;
  let isStopped = false;
  let onReady: (port: number) => void = () => undefined;
  const ready = new Promise<number>((resolve) => {
    onReady = resolve;
  });
  const open = (reason?: string) => {
    current = start();
    const { name } = current;
    current.ready.then(
      (port) => {
        onReady(port);
        if (reason) say(`${name}: restarted (${reason})`);
      },
      () => undefined,
    );
    void current.ended.then((how) => say(`${how}\n${name}: starts again after the next change.`));
    return current;
  };
  const { name, identity } = open();
  return {
    app: {
      name,
      identity,
      ready,
      ended: new Promise<string>(() => undefined),
      async stop() {
        isStopped = true;
        await current.stop();
      },
    } satisfies AppProcess,
    async restart(path: string) {
      change = path;
      if (isRestarting) return;
      isRestarting = true;
      while (change !== undefined && !isStopped) {
        const reason = change;
        change = undefined;
        await current.stop(stopTimeoutMs);
        if (!isStopped) open(reason);
      }
      isRestarting = false;
    },
  };
}
