import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { watch } from "chokidar";
import type { AppProcess } from "../app-process.js";

interface WatchAppsOptions<Name extends string> {
  root: string;
  names: readonly Name[];
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
  const watcher = watch(watched).on("all", (_event, path) => {
    if (!isAppSource(path)) return;
    changed.add(relative(root, path).split(sep).join("/"));
    clearTimeout(timer);
    timer = setTimeout(restart, settleMs);
  });
  return apps.map(({ app }) => ({
    ...app,
    async stop() {
      clearTimeout(timer);
      await watcher.close();
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

function digestOf(file: string): string {
  try {
    return createHash("sha256").update(readFileSync(file)).digest("hex");
  } catch {
    return "";
  }
}

/** A restartable app; it counts as running until `stop`. */
function keepApp(start: () => AppProcess, say: (line: string) => void) {
  let change: string | undefined;
  let restarted = Promise.resolve();
  let isStopped = false;
  let onReady: (port: number) => void = () => undefined;
  const ready = new Promise<number>((resolve) => {
    onReady = resolve;
  });
  const open = (reason?: string) => {
    const app = start();
    const report = (port: number) => {
      onReady(port);
      if (reason) say(`${app.name}: restarted (${reason})`);
    };
    app.ready.then(report, () => undefined);
    void app.ended.then((how) => say(`${how}\n${app.name}: starts again after the next change.`));
    return app;
  };
  let current = open();
  const app: AppProcess = {
    ...current,
    ready,
    ended: new Promise<string>(() => undefined),
    async stop() {
      isStopped = true;
      await current.stop();
    },
  };
  const reopen = async () => {
    await current.stop(stopTimeoutMs);
    if (!isStopped) current = open(change);
    change = undefined;
  };
  /** Further changes before the new start are part of it. */
  const restart = (path: string) => {
    if (change === undefined) restarted = restarted.then(reopen);
    change = path;
  };
  return { app, restart };
}

function sourceFoldersOf(root: string, app: string): string[] {
  const found = new Set([`apps/${app}`]);
  // The loop also visits the folders that it adds.
  for (const folder of found) {
    const manifest = readFileSync(join(root, folder, "package.json"), "utf8");
    const { dependencies = {} } = JSON.parse(manifest) as { dependencies?: object };
    for (const name of Object.keys(dependencies)) {
      if (name.startsWith("@waymark/")) found.add(name.replace("@waymark/", "packages/"));
    }
  }
  return [...found];
}

export function isAppSource(path: string): boolean {
  return /\.(ts|js|json)$/.test(path) && !/\.(test|fixture)\.ts$/.test(path);
}
