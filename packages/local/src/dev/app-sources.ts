import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The folders of an app and of its packages, direct and indirect, relative to the root. */
export function sourceFoldersOf(root: string, app: string): string[] {
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
