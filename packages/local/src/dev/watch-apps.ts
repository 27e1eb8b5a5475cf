import { createHash } from "node:crypto";
import { type Dirent, existsSync, type FSWatcher, readdirSync, readFileSync, watch } from "node:fs";
import { join, relative, sep } from "node:path";
import type { AppProcess } from "../app-process.js";

interface WatchAppsOptions<Name extends string> {
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

/** The folders of an app and of its packages, direct and indirect, relative to the root. */
function sourceFoldersOf(root: string, app: string): string[] {
  const found = new Set<string>();
  const visit = (folder: string) => {
    if (found.has(folder)) return;
    found.add(folder);
    for (const name of dependenciesIn(join(root, folder, "package.json"))) visit(`packages/${name}`);
  };
  visit(`apps/${app}`);
  return [...found];
}

function dependenciesIn(manifest: string): string[] {
  const { dependencies = {} } = JSON.parse(readFileSync(manifest, "utf8")) as { dependencies?: object };
  return Object.keys(dependencies).flatMap((name) => (name.startsWith("@waymark/") ? [name.split("/")[1] ?? ""] : []));
}

/** Whether a change of the file may change the running app. */
export function isAppSource(path: string): boolean {
  return /\.(ts|js|json)$/.test(path) && !/\.(test|fixture)\.ts$/.test(path);
}

/**
 * Watches folders and all folders below them. Each gets its own watcher: Node's recursive watcher loses a file when an editor
 * replaces it instead of writing to it.
 * @param onChange gets the path of each file or folder written, made, moved or deleted
 * @returns a function to stop watching
 */
function watchFolders(folders: readonly string[], onChange: (path: string) => void): () => void {
  const watchers = new Map<string, FSWatcher>();
  const add = (folder: string, onFile: (path: string) => void) => {
    if (!entriesOf(folder)) return;
    watchers.get(folder)?.close();
    const watcher = watch(folder, (_event, name) => {
      const path = join(folder, name ?? "");
      // Its files may be older than its watcher.
      if (name) add(path, onChange);
      onChange(path);
    });
    watcher.on("error", () => watcher.close());
    watchers.set(folder, watcher);
    for (const entry of entriesOf(folder) ?? []) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) add(path, onFile);
      else onFile(path);
    }
  };
  for (const folder of folders) add(folder, () => undefined);
  return () => {
    for (const watcher of watchers.values()) watcher.close();
  };
}

/** What a folder has; undefined if the path is no folder. */
function entriesOf(path: string): Dirent[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return undefined;
  }
}
