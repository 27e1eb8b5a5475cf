import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join } from "node:path";

/**
 * Watches folders and all folders below them. Each gets its own watcher: Node's recursive watcher loses a file when an editor
 * replaces it instead of writing to it.
 * @param onChange gets the path of each file or folder written, made, moved or deleted
 * @returns a function to stop watching
 */
export function watchFolders(folders: readonly string[], onChange: (path: string) => void): () => void {
  const watchers = new Map<string, FSWatcher>();
  const add = (folder: string) => {
    const below = foldersIn(folder);
    if (!below) return;
    watchers.get(folder)?.close();
    const watcher = watch(folder, (_event, name) => {
      const path = join(folder, name ?? "");
      if (name) add(path);
      onChange(path);
    });
    watcher.on("error", () => watcher.close());
    watchers.set(folder, watcher);
    below.forEach(add);
  };
  folders.forEach(add);
  return () => {
    for (const watcher of watchers.values()) watcher.close();
  };
}

/** The folders in a folder; undefined if the path is no folder. */
function foldersIn(path: string): string[] | undefined {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
  } catch {
    return undefined;
  }
}
