import { execFile } from "node:child_process";
import { statfs } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The type of btrfs in `statfs` (Linux, magic.h). */
const btrfs = 0x9123683e;

/** Whether a folder is here and on btrfs, whose compressed sizes `compsize` reads. */
export async function isBtrfs(folder: string): Promise<boolean> {
  const { type } = await statfs(folder).catch(() => ({ type: undefined }));
  return type === btrfs;
}

/**
 * The bytes that files on btrfs take after compression, with what later writes replaced but btrfs still holds.
 * @throws where `compsize` is missing (Debian's package btrfs-compsize)
 */
export async function readCompressedBytes(files: readonly string[]): Promise<number> {
  // Data that waits in memory has no size on disk yet.
  await run("sync");
  const { stdout } = await run("compsize", ["-b", ...files], { maxBuffer: 10_000_000 });
  const [, bytes] = /^TOTAL\s+\S+\s+(\d+)/m.exec(stdout) ?? [];
  if (bytes === undefined) throw new Error(`compsize printed no total: ${stdout}`);
  return Number(bytes);
}
