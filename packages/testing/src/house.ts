import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { codeIn, readTable } from "./documents.js";

/** A workspace and the workspaces its shipped code needs, by folders such as `packages/auth`. */
export interface Room {
  path: string;
  needs: readonly string[];
}

/** The most rooms of the house; a new one needs a reason. */
const maxRooms = 19;

export interface Manifest {
  path: string;
  name: string;
  dependencies?: Readonly<Record<string, string>>;
  exports?: Readonly<Record<string, { source?: string }>>;
}

export function readManifests(root: string): Manifest[] {
  const paths = ["apps", "packages"].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
  );
  return paths.flatMap((path) => {
    try {
      return [{ path, ...JSON.parse(readFileSync(join(root, path, "package.json"), "utf8")) }];
    } catch {
      return [];
    }
  });
}

/** The workspaces with the `dependencies` of their packages; tests may need more. */
export function readRooms(manifests: readonly Manifest[]): Room[] {
  const pathOf = new Map<string, string>(manifests.map(({ name, path }) => [name, path]));
  return manifests.map(({ path, dependencies = {} }) => ({
    path,
    needs: Object.keys(dependencies).flatMap((name) => pathOf.get(name) ?? []),
  }));
}

/** The floor of each room, from the table in `apps/README.md`; a row without a number is on the floor above it. */
export function readFloors(document: string): Map<string, number> {
  const floors = new Map<string, number>();
  let floor = 0;
  for (const [first = "", room] of readTable(document.split("## The house")[1]?.split("\n## ")[0] ?? "")) {
    floor = Number.parseInt(first, 10) || floor;
    for (const path of codeIn(room)) floors.set(path, floor);
  }
  return floors;
}

/** Rooms that nobody drew, or too many, and arrows up, in a circle, or into an app. */
export function findHouseFaults(rooms: readonly Room[], floors: ReadonlyMap<string, number>): string[] {
  const faults = rooms.length > maxRooms ? [`${rooms.length} rooms`] : [];
  const needsOf = new Map(rooms.map(({ path, needs }) => [path, needs]));
  for (const path of new Set([...needsOf.keys(), ...floors.keys()])) {
    if (!floors.has(path) || !needsOf.has(path)) faults.push(`${path} is not both drawn and there`);
  }
  const leadsTo = (from: string, to: string, seen = new Set<string>()): boolean =>
    (needsOf.get(from) ?? []).some((next) => {
      if (next === to) return true;
      if (seen.has(next)) return false;
      return leadsTo(next, to, seen.add(next));
    });
  for (const { path, needs } of rooms) {
    for (const needed of needs) {
      if ((floors.get(needed) ?? 0) > (floors.get(path) ?? 0)) faults.push(`${path} -> ${needed} climbs`);
      if (needed.startsWith("apps/")) faults.push(`${path} -> ${needed} enters an app`);
    }
    if (leadsTo(path, path)) faults.push(`${path} needs itself`);
  }
  return faults;
}
