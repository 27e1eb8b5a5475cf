import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder of an app and those of the packages that it depends on, directly or through others, from the root. */
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

/** Whether the running app may depend on a file of its folders. */
export function isAppSource(path: string): boolean {
  return /\.(ts|js|json)$/.test(path) && !/\.(test|fixture)\.ts$/.test(path);
}
