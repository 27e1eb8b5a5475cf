import { PassThrough, Readable } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import { createCollector, tap } from "./tap.js";

/** A tapped value, and what was told of it. */
function listen<T>(value: T) {
  const collector = createCollector();
  const ends: unknown[] = [];
  const tapped = tap(value, {
    chunk: collector.add,
    end: (error) => void ends.push(error?.thrown),
    within: (step) => step(),
  });
  return { tapped: tapped as T, ends, output: () => JSON.parse(collector.all() ?? "null") };
}

async function* count(to: number) {
  try {
    for (let n = 0; n < to; n++) yield n;
  } finally {
    await Promise.resolve();
  }
}

async function collect<T>(source: AsyncIterable<T> | Iterable<T>, most = Number.POSITIVE_INFINITY): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) if (items.push(item) >= most) break;
  return items;
}

describe("a generator", () => {
  it("is the same object, and ends when it is read, left or thrown at", async () => {
    const source = count(3);
    const { tapped, ends, output } = listen(source);
    expect(tapped).toBe(source);
    expect(await collect(tapped)).toEqual([0, 1, 2]);
    expect([ends, output()]).toEqual([[undefined], [0, 1, 2]]);

    const left = listen(count(9));
    expect(await collect(left.tapped, 2)).toEqual([0, 1]);
    expect([left.ends, left.output()]).toEqual([[undefined], [0, 1]]);

    const thrown = listen(count(9));
    await thrown.tapped.next();
    await expect(thrown.tapped.throw(new Error("stop"))).rejects.toThrow("stop");
    expect(thrown.ends).toEqual([new Error("stop")]);
  });

  it("may be synchronous, and fail", async () => {
    const { tapped, ends, output } = listen(
      (function* () {
        yield "a";
        throw new TypeError("broken");
      })(),
    );
    await expect(collect(tapped)).rejects.toThrow("broken");
    expect([ends, output()]).toEqual([[new TypeError("broken")], "a"]);
  });
});

describe("a stream of the web", () => {
  const encoder = new TextEncoder();
  const streamOf = (chunks: string[], type?: "bytes") =>
    new ReadableStream<Uint8Array>({
      ...(type && { type }),
      pull(controller: ReadableStreamDefaultController<Uint8Array>) {
        const chunk = chunks.shift();
        if (chunk === "fail") controller.error(new Error("cut"));
        else if (chunk === undefined) controller.close();
        else controller.enqueue(encoder.encode(chunk));
      },
    } as never);

  it.each([undefined, "bytes"] as const)("is read as it is, %s", async (type) => {
    const { tapped, ends, output } = listen(streamOf(["ä€", "b"], type));
    expect(await new Response(tapped).text()).toBe("ä€b");
    expect([ends, output()]).toEqual([[undefined], "ä€b"]);
  });

  it("of bytes fills the buffers of its reader", async () => {
    const { tapped } = listen(streamOf(["abc"], "bytes"));
    const reader = tapped.getReader({ mode: "byob" });
    expect((await reader.read(new Uint8Array(2))).value).toEqual(encoder.encode("ab"));
    expect((await reader.read(new Uint8Array(2))).value).toEqual(encoder.encode("c"));
    expect((await reader.read(new Uint8Array(2))).done).toBe(true);
  });

  it("is not read ahead, and may fail or be left", async () => {
    const chunks = ["a", "b", "fail"];
    const { tapped, ends, output } = listen(streamOf(chunks));
    expect(chunks.length).toBeGreaterThanOrEqual(2);
    await expect(new Response(tapped).text()).rejects.toThrow();
    expect([ends, output()]).toEqual([[new Error("cut")], "ab"]);
    const left = listen(streamOf(["a", "b"]));
    const reader = left.tapped.getReader();
    await reader.read();
    await reader.cancel();
    expect([left.ends, left.output()]).toEqual([[undefined], "a"]);
  });

  it("in a response keeps status, headers and address", async () => {
    const original = new Response(streamOf(["{}"]), { status: 201, headers: { "X-A": "b" } });
    Object.defineProperty(original, "url", { value: "http://a/" });
    const { tapped, output } = listen(original);
    expect([tapped.status, tapped.headers.get("X-A"), tapped.url, tapped instanceof Response]).toEqual([
      201,
      "b",
      "http://a/",
      true,
    ]);
    const copy = tapped.clone();
    expect([await tapped.json(), await copy.text(), output()]).toEqual([{}, "{}", "{}"]);
    expect(listen(new Response(null, { status: 204 })).tapped).toBeUndefined();
  });
});

describe("a stream of Node", () => {
  it("is heard in both of its modes, and its errors stay unhandled", async () => {
    const source = Readable.from([Buffer.from("a"), Buffer.from("b")]);
    const iterated = listen(source);
    expect(iterated.tapped).toBe(source);
    expect(await collect(iterated.tapped)).toHaveLength(2);
    expect([iterated.ends, iterated.output()]).toEqual([[undefined], "ab"]);

    const piped = listen(Readable.from(["x", "y"]));
    expect(await collect(piped.tapped.pipe(new PassThrough({ objectMode: true })))).toEqual(["x", "y"]);
    expect(piped.output()).toBe("xy");

    const failing = listen(new PassThrough());
    expect(() => failing.tapped.emit("error", new Error("cut"))).toThrow("cut");
    expect(failing.ends).toEqual([new Error("cut")]);
  });
});

it("other values are left alone", () => {
  for (const value of [1, "a", null, [1], new Map(), { a: 1 }, Object.freeze(count(1))])
    expect(listen(value).tapped).toBeUndefined();
});

it("what is kept of a stream is bounded", async () => {
  const { tapped, output } = listen(
    (async function* () {
      for (let n = 0; n < 2_000; n++) yield "x".repeat(1_000);
    })(),
  );
  await collect(tapped);
  expect(output()).toHaveLength(500_000 + "… [cut: 2000 chunks in all]".length);
});
