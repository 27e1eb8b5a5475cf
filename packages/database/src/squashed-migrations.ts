import { createHash } from "node:crypto";

/** `init` holds this migration and 35 further ones; a database or backup with its name is from before `init`. */
const first = "20261120000000_init";
const squashed = 36;

/** The SHA-256 of their checksums. Their names do not matter: they had two sets of them. */
const digest = "6d61bd450c74b31c0e7334dca66e0701f5303b1724df6587a55454ec8e7c434a";

/** Why a database or backup that has only a part of them is refused; after its subject. */
export const squashRefusal =
  "is older than commit fe2f68b, or one of its migrations was changed. This release holds the migrations up to that commit as one: migrate with commit fe2f68b first, then with this release.";

/** Whether these names of a database's or backup's migrations are from before `init`. */
export const isBeforeInit = (names: readonly string[]): boolean => names.includes(first);

/** Whether the checksums are those of the migrations that `init` holds. */
export const areSquashed = (checksums: readonly string[]): boolean =>
  createHash("sha256")
    .update([...checksums].sort().join(" "))
    .digest("hex") === digest;

/**
 * @param names of a backup's migrations
 * @param known the names of this release, `init` first
 * @returns the names with `init` in place of those that it holds; undefined if some of these are missing
 */
export function squashNames(names: readonly string[], known: readonly string[]): readonly string[] | undefined {
  if (!isBeforeInit(names)) return names;
  const present = names.filter((name) => known.includes(name));
  return names.length - present.length === squashed ? [...known.slice(0, 1), ...present] : undefined;
}
