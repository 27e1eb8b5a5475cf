import { readFile } from "node:fs/promises";

/** The object of a text of JSON; undefined for anything else. Nobody has checked its members. */
export function parseObject<Value extends object>(text: string): Partial<Value> | undefined {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === "object" && read !== null ? read : undefined;
  } catch {
    return undefined;
  }
}

/** Reads an object of our own from a file of JSON; undefined when the file is missing or malformed. */
export async function readJsonFile<Value extends object>(file: string): Promise<Partial<Value> | undefined> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return "";
  });
  return parseObject(text);
}
