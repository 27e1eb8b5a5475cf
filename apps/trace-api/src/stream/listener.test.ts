import { describe, expect, it } from "@jest/globals";
import type { StreamPage } from "@waymark/traces";
import { framesOf } from "./frames.js";
import { Listener } from "./listener.js";
import { covers, isVisible, parseSnapshot } from "./snapshot.js";

const row = (txid: number) => ({
  ...{ txid: String(txid), id: `00000000-0000-7000-8000-${String(txid).padStart(12, "0")}`, agent_id: "a" },
  ...{ name: `trace ${txid}`, status: "running" as const, started_at: "2026-06-01T12:00:00.000Z" },
  ...{ ended_at: null, duration_ms: null },
});
function batchOf(base: string, top: string, txids: readonly number[]) {
  const page: StreamPage = { rows: txids.map(row), top, next: { base: top }, isLast: true };
  return { page, base, nowMs: 0, text: framesOf(page, { base, nowMs: 0 }) };
}
const snapshot = (text: string) => {
  const parsed = parseSnapshot(text);
  if (!parsed) throw new Error(`No snapshot: ${text}`);
  return parsed;
};
const namesIn = (text = "") => [...text.matchAll(/"name":"trace (\d+)"/g)].map((match) => Number(match[1]));

describe("a listener", () => {
  let cuts = 0;
  const listener = () => new Listener({ accountId: "a", isAllowed: () => true, cut: () => void cuts++ });

  it("gets what came while it read by itself, without what it has read", async () => {
    const own = listener();
    own.deliver(batchOf("5:9:7", "5:10:7", [9]));
    own.beat("5:10:7", 0);
    own.goLive("7:11:7");
    own.deliver(batchOf("5:10:7", "14:14:", [7, 10, 13]));
    const text = await own.next();
    // 9 and 10 were visible to it already; 7 was not.
    expect(namesIn(text)).toEqual([7, 13]);
    // Its ids name what it has read, not what the account's others have.
    expect(text).toContain("id: 0.7:11:7.14:14:.7.");
    own.deliver(batchOf("14:14:", "15:15:", [14]));
    expect(await own.next()).toContain("id: 0.15:15:\n");
  });

  it("is cut when its client reads too slowly", async () => {
    const own = listener();
    own.goLive("1:1:");
    const many = batchOf(
      "1:1:",
      "9000:9000:",
      Array.from({ length: 2_000 }, (_, n) => n + 2),
    );
    for (let n = 0; n < 10; n++) own.deliver(many);
    expect(cuts).toBe(1);
    expect(await own.next()).toBeUndefined();
  });
});

describe("a snapshot", () => {
  it("shows what ended before it", () => {
    const seen = ["4", "5", "6", "7", "8", "9", "10"].filter((id) => isVisible(id, snapshot("5:9:5,7")));
    expect(seen).toEqual(["4", "6", "8"]);
  });

  it("covers an earlier one, whose open transactions may be open still", () => {
    expect(covers(snapshot("5:12:5,11"), snapshot("5:9:5,7"))).toBe(true);
    expect(covers(snapshot("5:12:8"), snapshot("5:9:5,7"))).toBe(false);
    expect(covers(snapshot("5:8:5"), snapshot("5:9:5,7"))).toBe(false);
  });

  it.each(["", "1", "1:2", "0:2:", "3:2:", "1:5:5", "1:5:3,2", "1:5:2,", "1:99999999999999999999:", "1:5:a", "1:5:2 "])(
    "is not %j",
    (text) => expect(parseSnapshot(text)).toBeUndefined(),
  );
});
