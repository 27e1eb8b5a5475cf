import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { writeZip } from "./zip.fixture.js";
import { readZip } from "./zip-file.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-zip-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const files = { "a.csv": "hello\n".repeat(90_000), "folder/b.csv": "", "ü.csv": "x" };

async function unpack(bytes: Buffer): Promise<Record<string, string>> {
  const file = join(folder, "archive.zip");
  await writeFile(file, bytes);
  const unpacked: Record<string, string> = {};
  for (const { name, open } of await readZip(file)) unpacked[name] = await text(open());
  return unpacked;
}

describe("readZip", () => {
  it("unpacks every file, with the sizes of ZIP64 too", async () => {
    expect(await unpack(writeZip(files))).toEqual(files);
    expect(await unpack(writeZip(files, { isWide: true }))).toEqual(files);
    expect(await unpack(writeZip({}))).toEqual({});
  });

  it("refuses what is no whole archive", async () => {
    const whole = writeZip(files);
    const text = Buffer.from("no archive");
    for (const bytes of [text, Buffer.alloc(0), whole.subarray(0, -1), whole.subarray(50)]) {
      await expect(unpack(bytes)).rejects.toThrow(/archive\.zip' is (no whole zip archive|damaged)|is damaged/);
    }
  });

  it("refuses a list of files that is longer than any export's", async () => {
    const many = Array.from({ length: 80 }, (_, n) => [`${n}${"x".repeat(60_000)}`, ""] as const);
    await expect(unpack(writeZip(Object.fromEntries(many.slice(0, 9))))).resolves.toHaveProperty(many[8]?.[0] ?? "");
    await expect(unpack(writeZip(Object.fromEntries(many)))).rejects.toThrow("archive.zip' is no whole zip archive.");
  });

  it("refuses content that is not what the archive says, or encrypted", async () => {
    await expect(unpack(writeZip(files, { crc: 1 }))).rejects.toThrow("'a.csv' in");
    await expect(unpack(writeZip(files, { size: 9 }))).rejects.toThrow("is damaged");
    await expect(unpack(writeZip(files, { flags: 1 }))).rejects.toThrow("is encrypted");
  });

  it("survives a change of any byte", async () => {
    const whole = writeZip({ "a.csv": "hello hello" });
    for (let at = 0; at < whole.length; at++) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ 0xff;
      await unpack(bytes).catch((error: Error) => expect(error.name).toBe("CommandError"));
    }
  });
});
