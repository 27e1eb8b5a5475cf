import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Line, readLines } from "./lines.js";

async function read(chunks: Iterable<Buffer>, maxLineBytes = 100): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const batch of readLines(streamOf(chunks), maxLineBytes)) lines.push(...batch);
  return lines;
}

async function* streamOf(chunks: Iterable<Buffer>) {
  yield* chunks;
}

describe("readLines", () => {
  it("leaves out blank lines, the byte order mark and CR, and numbers every line", async () => {
    expect(await read([Buffer.from("\ufeffa\r\n\n  \nb")])).toEqual([
      { number: 1, text: "a" },
      { number: 4, text: "b" },
    ]);
  });

  it("reports a line that is too long or no UTF-8, and goes on behind it", async () => {
    const input = Buffer.concat([
      Buffer.from(`${"x".repeat(100)}\n${"x".repeat(101)}\n`),
      Buffer.from([0xff, 0x0a, 0xc3, 0x0a]),
      Buffer.from("ü\n"),
    ]);
    expect(await read([input])).toEqual([
      { number: 1, text: "x".repeat(100) },
      { number: 2, problem: "The line must be at most 100 bytes long" },
      { number: 3, problem: "The line must be UTF-8" },
      { number: 4, problem: "The line must be UTF-8" },
      { number: 5, text: "ü" },
    ]);
  });

  it("does not hold a line that never ends", async () => {
    const chunk = Buffer.alloc(1 << 20, "x");
    const before = process.memoryUsage().arrayBuffers;
    let highest = 0;
    const endless = (function* () {
      for (let i = 0; i < 200; i++) {
        highest = Math.max(highest, process.memoryUsage().arrayBuffers - before);
        yield chunk;
      }
    })();
    expect(await read(endless, 65_536)).toEqual([{ number: 1, problem: "The line must be at most 65536 bytes long" }]);
    expect(highest).toBeLessThan(20 << 20);
  });

  it("reads the same however the bytes are cut into chunks", async () => {
    const bytes = fc.array(fc.constantFrom(...Buffer.from("ab\n\r ü\u2028"), 0xff), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(bytes, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), async (drawn, sizes) => {
        const whole = Buffer.from(drawn);
        const chunks: Buffer[] = [];
        for (let i = 0, n = 0; i < whole.length; i += sizes[n++ % sizes.length] ?? 1) {
          chunks.push(whole.subarray(i, i + (sizes[n % sizes.length] ?? 1)));
        }
        expect(await read(chunks, 20)).toEqual(await read([whole], 20));
      }),
    );
  });
});
