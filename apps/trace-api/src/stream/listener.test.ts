import { describe, expect, it } from "@jest/globals";
import { createRefusals, createShares, createTurns } from "@waymark/service/http";
import type { StreamPage } from "@waymark/traces";
import { Registry } from "prom-client";
import { covers, Frames, isVisible, parseSnapshot, Slice } from "./frames.js";
import { Backlog, Listener, WaitingText } from "./listener.js";

const kibibyte = 1_024;
const row = (txid: number) => ({
  txid: String(txid),
  id: `00000000-0000-7000-8000-${String(txid).padStart(12, "0")}`,
  agent_id: "a",
  name: `trace ${txid}`,
  status: "running" as const,
  started_at: "2026-06-01T12:00:00.000Z",
  ended_at: null,
  duration_ms: null,
});
function framesOf(base: string, top: string, txids: readonly number[]) {
  const page: StreamPage = { rows: txids.map(row), top, next: { base: top }, isLast: true };
  return new Frames(page, base, 0);
}
const snapshot = (text: string) => {
  const parsed = parseSnapshot(text);
  if (!parsed) throw new Error(`No snapshot: ${text}`);
  return parsed;
};
const namesIn = (text: string) => [...text.matchAll(/"name":"trace (\d+)"/g)].map((match) => Number(match[1]));
const slice = () => new Slice(createTurns());

/** A budget, and listeners whose clients read nothing until asked to. */
function setUp({ total = 100, perAccount = 50 } = {}) {
  const limits = { name: "answer_bytes", total: total * kibibyte, perAccount: perAccount * kibibyte, reason: () => "" };
  const shares = createShares(limits, createRefusals(new Registry()));
  const backlog = new Backlog(shares, new Registry());
  const cuts: string[] = [];
  return {
    backlog,
    shares,
    cuts,
    listen(name: string, accountId = "a") {
      const listener = new Listener({ accountId, isAllowed: () => true, cut: () => void cuts.push(name) }, backlog);
      backlog.streams.add(listener);
      listener.goLive("1:1:");
      return listener;
    },
    text: (size: number, accountId = "a") => new WaitingText("x".repeat(size * kibibyte), accountId, backlog),
    /** What the budget has left of an account's share, in KiB. */
    room(accountId = "a") {
      let taken = 0;
      while (!shares.take(accountId, kibibyte)) taken++;
      shares.give(accountId, taken * kibibyte);
      return taken;
    },
  };
}

describe("a listener", () => {
  it("is not live while batches pass by its last reading", () => {
    const { backlog } = setUp();
    const listener = new Listener({ accountId: "a", isAllowed: () => true, cut: () => undefined }, backlog);
    listener.beginReading();
    listener.deliver(undefined, snapshot("5:10:7"));
    expect(listener.goLive("7:11:7")).toBe(false);
    listener.beginReading();
    expect(listener.goLive("7:11:7")).toBe(true);
    expect(listener.since?.text).toBe("7:11:7");
    listener.deliver(undefined, snapshot("7:10:7"));
    expect(listener.since?.text).toBe("7:11:7");
    listener.deliver(undefined, snapshot("14:14:"));
    expect(listener.since).toBeUndefined();
  });

  it("is cut when its client is 2 MiB behind, and not by one large text", async () => {
    const { listen, text, cuts } = setUp({ total: 10_000, perAccount: 10_000 });
    const slow = listen("slow");
    for (const size of [3_000, 1]) {
      slow.deliver(text(size), undefined);
      expect(cuts).toEqual([]);
      expect((await slow.next())?.length).toBe(size * kibibyte);
    }
    for (let n = 0; n < 4; n++) slow.deliver(text(512), undefined);
    expect(cuts).toEqual(["slow"]);
    expect(await slow.next()).toBeUndefined();
  });

  it("holds a text until the connection asks for the next one", async () => {
    const { listen, text, room } = setUp();
    const listener = listen("one");
    listener.deliver(text(40), undefined);
    expect(room()).toBe(26);
    await listener.next();
    expect(room()).toBe(26);
    void listener.next();
    expect(room()).toBe(50);
    listener.own("x".repeat(40 * kibibyte));
    expect(room()).toBe(26);
    listener.close();
    expect(room()).toBe(50);
  });
});

describe("the backlog", () => {
  it("counts a text once for all listeners, and not an account's first 16 KiB", () => {
    const { listen, text, room, cuts } = setUp();
    const listeners = Array.from({ length: 20 }, (_, n) => listen(`${n}`));
    const one = text(16);
    for (const listener of listeners) listener.deliver(one, undefined);
    expect(room()).toBe(50);
    const other = text(30);
    for (const listener of listeners) listener.deliver(other, undefined);
    expect([room(), cuts]).toEqual([20, []]);
    for (const listener of listeners) listener.close();
    expect(room()).toBe(50);
  });

  it("cuts the account's streams furthest behind until there is room, and no other", () => {
    const { listen, text, cuts } = setUp();
    const [slow, slower] = [listen("slow"), listen("slower")];
    const foreign = listen("foreign", "b");
    foreign.deliver(text(40, "b"), undefined);
    slow.deliver(text(20), undefined);
    slower.deliver(text(30), undefined);
    const reader = listen("reader");
    reader.deliver(text(17), undefined);
    expect(cuts).toEqual(["slower"]);
    expect(reader.waiting).toBe(17 * kibibyte);
    expect(foreign.isEnded).toBe(false);
  });

  it("cuts the streams furthest behind of any account when all together hold too much", () => {
    const { listen, text, cuts } = setUp({ total: 60 });
    listen("slower", "b").deliver(text(50, "b"), undefined);
    listen("slow", "c").deliver(text(40, "c"), undefined);
    const reader = listen("reader");
    reader.deliver(text(20), undefined);
    expect(cuts).toEqual(["slower"]);
    expect(reader.waiting).toBe(20 * kibibyte);
  });

  it("cuts the listener itself when unread answers leave no room", () => {
    const { listen, text, cuts, shares } = setUp();
    shares.take("a", 50 * kibibyte);
    const reader = listen("reader");
    reader.deliver(text(16), undefined);
    expect(cuts).toEqual([]);
    reader.deliver(text(1), undefined);
    expect(cuts).toEqual(["reader"]);
  });
});

describe("the events of a page", () => {
  it("are those that a snapshot does not show, with ids that name it", async () => {
    const frames = framesOf("5:10:7", "14:14:", [7, 10, 13]);
    const text = await frames.textFor({ since: snapshot("7:11:7") }, slice(), "a");
    expect(namesIn(text)).toEqual([7, 13]);
    expect(text).toContain("id: 0.7:11:7.14:14:.7.");
    expect(text).toContain("id: 0.14:14:\n");
    expect(namesIn(await frames.textFor({}, slice(), "a"))).toEqual([7, 10, 13]);
  });

  it("are written in pieces of 8 ms, and in turns between accounts", async () => {
    const turns = createTurns();
    let clock = 0;
    let rounds = 0;
    const roundOf: number[] = [];
    const count = () => {
      rounds++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const matches = () => {
      clock += 1;
      roundOf.push(rounds);
      return true;
    };
    const txids = Array.from({ length: 100 }, (_, n) => n + 2);
    const write = (owner: string) =>
      framesOf("1:1:", "200:200:", txids).textFor({ matches }, new Slice(turns, () => clock), owner);
    const texts = await Promise.all([write("a"), write("b")]);
    clearImmediate(timer);
    expect(texts.map(namesIn)).toEqual([txids, txids]);
    const most = Math.max(...[...new Set(roundOf)].map((round) => roundOf.filter((each) => each === round).length));
    expect(most).toBeLessThanOrEqual(8);
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
