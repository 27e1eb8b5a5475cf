import { type Dirent, type FSWatcher, readdirSync, watch } from "node:fs";
import { join } from "node:path";

/**
 * Watches folders and all folders below them. Each gets its own watcher: Node's recursive watcher loses a file when an editor
 * replaces it instead of writing to it.
 * @param onChange gets the path of each file or folder written, made, moved or deleted
 * @returns a function to stop watching
 */
export function watchFolders(folders: readonly string[], onChange: (path: string) => void): () => void {
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
