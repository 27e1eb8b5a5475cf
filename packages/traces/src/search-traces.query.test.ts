import { describe, expect, it } from "@jest/globals";
import { createUuidV7, uuidV7Floor, withTransaction } from "@waymark/database";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { storeBlocks } from "./blocks/store-blocks.query.js";
import { foldEach, jsonOf, plainOf, text } from "./contents/contents.fixture.js";
import { readSearch, searchProblem } from "./contents/search-terms.js";
import { newestCursor, type TraceCursor, type TracesToFind } from "./list-traces.query.js";
import { presentTracePage, traceQuerySchema, tracesToFind } from "./list-traces.schema.js";
import { searchTraces } from "./search-traces.query.js";
import { useTraces } from "./traces.fixture.js";

interface Step {
  name: string;
  input: string | null;
  output: string | null;
  error: string | null;
}

interface Run {
  name: string;
  spans: readonly Step[];
}

const hourMs = 3_600_000;
const uuid = createUuidV7();
const { pool, makeAccount } = useTraces();
const store = (accountId: string) => storeBlocks(pool, accountId, () => false);

/** The n-th id of two hours ago. */
const oldId = (n: number) => `${uuidV7Floor(Date.now() - 2 * hourMs).slice(0, 24)}${n.toString(16).padStart(12, "0")}`;

/** A trace each, a second before the one before unless told otherwise. */
async function insert(
  accountId: string,
  runs: readonly Run[],
  idOf: (n: number) => string = oldId,
  secondOf: (n: number) => number = (n) => n,
): Promise<string[]> {
  const ids = runs.map((_, n) => idOf(n));
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, written_at)
     SELECT $1, id, 'agent ' || n % 2, name, 'success', '2026-06-01T12:00:00Z'::timestamptz - second * interval '1 second', now() - interval '2 hours'
     FROM unnest($2::uuid[], $3::text[], $4::float8[]) WITH ORDINALITY AS r (id, name, second, n)`,
    [accountId, ids, runs.map(({ name }) => name), runs.map((_, n) => secondOf(n))],
  );
  for (const [n, { spans }] of runs.entries()) if (spans.length > 0) await insertSpans(accountId, ids[n] ?? "", spans);
  return ids;
}

async function insertSpans(accountId: string, traceId: string, spans: readonly Step[]): Promise<void> {
  const column = (name: keyof Step) => spans.map((span) => span[name]);
  await pool.query(
    `INSERT INTO span (account_id, trace_id, id, name, status, started_at, input, output, error)
     SELECT $1, $2, r.id, r.name, 'ok', now(), r.input, r.output, r.error
     FROM unnest($3::uuid[], $4::text[], $5::json[], $6::json[], $7::text[]) AS r (id, name, input, output, error)`,
    [accountId, traceId, spans.map(() => uuid()), column("name"), column("input"), column("output"), column("error")],
  );
}

const plain = (name: string, ...inputs: string[]): Run => ({
  name,
  spans: inputs.map((input) => ({ name: "step", input: JSON.stringify(input), output: null, error: null })),
});

/** The names of all pages, in their order. */
async function search(accountId: string, q: string, filter: Partial<TracesToFind> = {}, options = { newest: 1 }) {
  const names: string[] = [];
  const query = { accountId, limit: 200, search: readSearch(q), ...filter };
  for (let after: TraceCursor | null = newestCursor; after !== null; ) {
    const page = await searchTraces(pool, { ...query, after }, { maxMs: 60_000, ...options });
    names.push(...page.traces.map(({ name }) => name));
    after = page.next;
  }
  return names;
}

/** Whether each word is in some text, by a look at each character. */
function has({ name, spans }: Run, words: readonly string[]): boolean {
  const texts = spans.flatMap((span) => [
    span.name,
    span.error ?? "",
    ...[span.input, span.output].map((json) => plainOf(json ?? "")),
  ]);
  const folded = [name, ...texts].map(foldEach);
  return words.every((word) => folded.some((each) => each.includes(foldEach(word))));
}

const maybe = (arbitrary: fc.Arbitrary<string>) => fc.option(arbitrary);
const step: fc.Arbitrary<Step> = fc.record({
  name: text,
  input: maybe(jsonOf(text)),
  output: maybe(jsonOf(text)),
  error: maybe(text),
});
const run: fc.Arbitrary<Run> = fc.record({ name: text, spans: fc.array(step, { maxLength: 4 }) });

/** Words of the runs' own texts in another case, and others. */
function wordsOf(runs: readonly Run[], at: readonly number[]): string[] {
  const texts = runs.flatMap(({ name, spans }) => [
    name,
    ...spans.flatMap((span) => [span.name, span.error ?? "", plainOf(span.output ?? "")]),
  ]);
  return at.map((place) => {
    const own = [...(texts[place % texts.length] ?? "")];
    const word = own.slice(place % 7, (place % 7) + 2 + (place % 9)).join("");
    return place % 3 === 0 ? word.toUpperCase() : place % 3 === 1 ? word.toLowerCase() : word;
  });
}

const canBeAsked = (word: string) =>
  word.isWellFormed() && !word.includes('"') && searchProblem(`"${word}"`) === undefined;

/** What happens between two pages, and at which second. */
const event = fc.record({
  does: fc.constantFrom("arrive", "grow", "store"),
  isHit: fc.boolean(),
  other: fc.nat({ max: 11 }),
  second: fc.nat({ max: 299 }),
});

/** Reads pages of two, and tells the next one by a look at every character. */
async function pageThrough({ word, runs }: { word: string; runs: readonly Run[] }) {
  const accountId = await makeAccount();
  const secondOf = (n: number) => n;
  const ids = await insert(accountId, runs, oldId, secondOf);
  let all = runs.map((own, n) => ({ id: ids[n] ?? "", run: own, second: secondOf(n) }));
  let after: TraceCursor | null = newestCursor;
  let [passed, wanted]: [number, string[]] = [Number.NEGATIVE_INFINITY, []];
  const q = /[\s"]/.test(word) ? `"${word}"` : word;
  return {
    async change(does: "arrive" | "grow" | "store", own: Run, second: number) {
      const grows = all[second];
      if (does === "store") await store(accountId);
      else if (does === "grow" && grows) {
        await insertSpans(accountId, grows.id, own.spans);
        all[second] = { ...grows, run: { ...grows.run, spans: [...grows.run.spans, ...own.spans] } };
      } else if (does === "arrive") {
        // No two at one time.
        const at = second - 0.5 - all.length / 10_000;
        const [id = ""] = await insert(accountId, [own], uuid, () => at);
        all = [...all, { id, run: own, second: at }].sort((one, other) => one.second - other.second);
      }
    },
    async read() {
      const found = all.filter(({ run: own, second }) => second > passed && has(own, [word]));
      wanted = found.slice(0, 2).map(({ id }) => id);
      passed = found[1]?.second ?? Number.POSITIVE_INFINITY;
      if (after === null) return [];
      const options = { maxMs: 60_000, newest: 1 };
      const page = await searchTraces(pool, { accountId, limit: 2, after, search: readSearch(q) }, options);
      after = page.next;
      return page.traces.map(({ id }) => id);
    },
    expected: () => wanted,
  };
}

describe("a search of contents", () => {
  it("finds what a look at every character finds, before and after blocks, in all scripts", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(run, { minLength: 12, maxLength: 12 }),
        fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
        async (few, places) => {
          const accountId = await makeAccount();
          const runs = Array.from({ length: 300 }, (_, n) => few[n] ?? plain(`run ${n}`, `filling ${n * 7919}`));
          await insert(accountId, runs);
          const words = wordsOf(few, places).filter(canBeAsked);
          const queries = words.flatMap((word, n) => (n % 4 === 3 ? [[word, words[n - 1] ?? word]] : [[word]]));
          const find = () =>
            Promise.all(queries.map((query) => search(accountId, query.map((word) => `"${word}"`).join(" "))));
          const expected = queries.map((query) => runs.filter((each) => has(each, query)).map(({ name }) => name));
          expect(await find()).toEqual(expected);
          expect(await store(accountId)).toBeGreaterThan(0);
          expect(await find()).toEqual(expected);
        },
      ),
      randomRuns(3),
    );
  });

  it("has in each page what is there when it is read, while traces arrive, grow and go into blocks", async () => {
    const runs = fc.array(run, { minLength: 12, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(
        runs,
        fc.nat(),
        fc.array(event, { minLength: 10, maxLength: 10 }),
        async (few, place, events) => {
          const [word = ""] = wordsOf(few, [place]);
          fc.pre(canBeAsked(word));
          const hit = few.find((each) => has(each, [word])) ?? plain("none");
          const page = await pageThrough({
            word,
            runs: Array.from({ length: 300 }, (_, n) =>
              n % 29 === 0 ? hit : (few[n / 23] ?? plain(`run ${n}`, `filling ${n * 7919}`)),
            ),
          });
          for (const { does, isHit, other, second } of events) {
            await page.change(does, isHit ? hit : (few[other] ?? hit), second);
            expect(await page.read()).toEqual(page.expected());
          }
        },
      ),
      randomRuns(2),
    );
  });

  it("finds all words of a trace wherever they are, and phrases in one text alone", async () => {
    const accountId = await makeAccount();
    await insert(accountId, [
      plain("one", "red fox", "blue sky"),
      plain("two", "a red", "fox"),
      plain("three red fox"),
    ]);
    expect(await search(accountId, "FOX red")).toEqual(["one", "two", "three red fox"]);
    expect(await search(accountId, '"red fox"')).toEqual(["one", "three red fox"]);
    expect(await search(accountId, '"red fox" sky')).toEqual(["one"]);
    expect(await search(accountId, "redfox")).toEqual([]);
  });

  it("joins with other filters and reads no trace of another account", async () => {
    const [accountId, other] = [await makeAccount(), await makeAccount()];
    const runs = Array.from({ length: 300 }, (_, n) => plain(`run ${n}`, n % 100 === 7 ? "a zebra" : "a horse"));
    await insert(accountId, runs);
    await insert(other, [plain("secret", "a zebra")], () => oldId(1_000));
    await store(accountId);
    expect(await search(accountId, "zebra")).toEqual(["run 7", "run 107", "run 207"]);
    expect(await search(accountId, "zebra", { agentId: "agent 1" })).toEqual([]);
    expect(await search(accountId, "zebra", { agentId: "agent 0", name: "107" })).toEqual(["run 107"]);
    expect(await search(accountId, "zebra", { statuses: ["error"] })).toEqual([]);
  });
});

describe("a search after blocks are stored", () => {
  const filled = () => Array.from({ length: 300 }, (_, n) => plain(`run ${n}`, "a horse"));

  it("reads only the traces of blocks that may have the words", async () => {
    const accountId = await makeAccount();
    await insert(accountId, filled().with(100, plain("hidden", "a zebra")));
    await store(accountId);
    expect(await search(accountId, "zebra")).toEqual(["hidden"]);
    await pool.query("UPDATE trace_block SET contents = '\\x0000000000000000' WHERE account_id = $1", [accountId]);
    expect(await search(accountId, "zebra")).toEqual([]);
    await pool.query("UPDATE trace_block SET contents = NULL WHERE account_id = $1", [accountId]);
    expect(await search(accountId, "zebra")).toEqual(["hidden"]);
    await store(accountId);
    const { rows } = await pool.query("SELECT FROM trace_block WHERE account_id = $1 AND contents IS NULL", [
      accountId,
    ]);
    expect(rows).toEqual([]);
  });

  it("finds spans that come later, and changed ones, before and after the next storing", async () => {
    const accountId = await makeAccount();
    const first = (await insert(accountId, filled().with(100, plain("late", "a horse"))))[100] ?? "";
    await store(accountId);
    await insertSpans(accountId, first, [{ name: "a zebra", input: null, output: null, error: null }]);
    expect(await search(accountId, "zebra")).toEqual(["late"]);
    await pool.query("UPDATE span SET output = $3 WHERE account_id = $1 AND trace_id = $2", [
      accountId,
      first,
      '"an okapi"',
    ]);
    expect(await search(accountId, "okapi zebra")).toEqual(["late"]);
    await store(accountId);
    const notes = await pool.query("SELECT FROM trace_change WHERE account_id = $1 AND trace_id = $2", [
      accountId,
      first,
    ]);
    expect(notes.rowCount).toBe(0);
    expect(await search(accountId, "okapi zebra")).toEqual(["late"]);
  });

  it("misses no span that commits after its trace's filter is read", async () => {
    const accountId = await makeAccount();
    const first = (await insert(accountId, filled().with(100, plain("late", "a horse"))))[100] ?? "";
    await store(accountId);
    const addSpan =
      "INSERT INTO span (account_id, trace_id, id, name, status, started_at) VALUES ($1, $2, $3, $4, 'ok', now())";
    await pool.query(addSpan, [accountId, first, uuid(), "a zebra"]);
    await withTransaction(pool, async (client) => {
      // The note of the zebra says enough for the okapi, too.
      await client.query(addSpan, [accountId, first, uuid(), "an okapi"]);
      await store(accountId);
    });
    expect(await search(accountId, "okapi")).toEqual(["late"]);
    await store(accountId);
    expect(await search(accountId, "okapi zebra")).toEqual(["late"]);
  });

  it("lets writers of one trace note it side by side, without waiting", async () => {
    const accountId = await makeAccount();
    const first = (await insert(accountId, filled().with(100, plain("late", "a horse"))))[100] ?? "";
    await store(accountId);
    const addSpan =
      "INSERT INTO span (account_id, trace_id, id, name, status, started_at) VALUES ($1, $2, $3, $4, 'ok', now())";
    await withTransaction(pool, async (one) => {
      await one.query(addSpan, [accountId, first, uuid(), "a zebra"]);
      await withTransaction(pool, async (other) => {
        await other.query("SET LOCAL lock_timeout = '1s'");
        await other.query(addSpan, [accountId, first, uuid(), "an okapi"]);
      });
    });
    expect(await search(accountId, "okapi zebra")).toEqual(["late"]);
    await store(accountId);
    expect(await search(accountId, "okapi zebra")).toEqual(["late"]);
  });

  it("takes the newest of a trace that grows in 40 requests while blocks are stored", async () => {
    const accountId = await makeAccount();
    const ids = await insert(accountId, filled());
    let isStopping = false;
    const storing = (async () => {
      while (!isStopping) await store(accountId);
    })();
    for (let n = 0; n < 40; n++) {
      await insertSpans(accountId, ids[n % 3] ?? "", [{ name: `word${n}x`, input: null, output: null, error: null }]);
      expect(await search(accountId, `word${n}x`)).toEqual([`run ${n % 3}`]);
    }
    isStopping = true;
    await storing;
    for (let n = 0; n < 40; n++) expect(await search(accountId, `WORD${n}X`)).toEqual([`run ${n % 3}`]);
  });
});

describe("a search without time", () => {
  /** Reads pages as a client does, each with too little time. */
  async function pages(accountId: string, q: string): Promise<{ names: string[]; pages: number }> {
    const names: string[] = [];
    let cursor: string | undefined;
    for (let count = 1; ; count++) {
      const query = tracesToFind(accountId, traceQuerySchema.parse({ q, ...(cursor && { cursor }) }));
      const page = presentTracePage(await searchTraces(pool, query, { maxMs: 0, newest: 2 }));
      names.push(...page.traces.map(({ name }) => name));
      if (page.next_cursor === null) return { names, pages: count };
      cursor = page.next_cursor;
    }
  }

  it("goes on where it stopped, from trace to trace", async () => {
    const accountId = await makeAccount();
    const runs = Array.from({ length: 30 }, (_, n) => plain(`run ${n}`, n % 10 === 7 ? "a zebra" : "a horse"));
    await insert(accountId, runs);
    expect(await pages(accountId, "zebra")).toEqual({
      names: ["run 7", "run 17", "run 27"],
      pages: expect.any(Number),
    });
    expect((await pages(accountId, "zebra")).pages).toBeGreaterThan(10);
  });

  it("goes on within a large trace, and remembers the words that it has found", async () => {
    const accountId = await makeAccount();
    const large = plain("large", "a zebra", ...Array.from({ length: 2_500 }, (_, n) => `step ${n}`), "an okapi");
    await insert(accountId, [plain("before", "zebra and okapi"), large, plain("after", "zebra and okapi")]);
    expect(await pages(accountId, "okapi zebra")).toMatchObject({ names: ["before", "large", "after"] });
    expect((await pages(accountId, "okapi unicorn")).names).toEqual([]);
    expect((await pages(accountId, "okapi unicorn")).pages).toBeGreaterThan(4);
  });

  it("reads large values in pieces", async () => {
    const accountId = await makeAccount();
    const long = `${"filling \u00e9\n".repeat(300_000)}zebra${"\\".repeat(200_000)}`;
    await insert(accountId, [plain("long", long, "okapi"), plain("other", "zebra")]);
    expect(await search(accountId, "zebra")).toEqual(["long", "other"]);
    expect(await search(accountId, '"É\nzebra\\\\" OKAPI')).toEqual(["long"]);
  });
});

describe("a cursor within a trace", () => {
  it("begins the trace anew for other words", async () => {
    const accountId = await makeAccount();
    const [id = ""] = await insert(accountId, [
      plain("large", "a zebra", ...Array.from({ length: 1_500 }, () => "step")),
    ]);
    const { next } = await searchTraces(
      pool,
      { accountId, limit: 50, after: newestCursor, search: readSearch("unicorn") },
      { maxMs: 0 },
    );
    expect(next?.within?.traceId).toBe(id);
    const found = await searchTraces(pool, {
      accountId,
      limit: 50,
      after: next ?? newestCursor,
      search: readSearch("zebra"),
    });
    expect(found.traces.map(({ name }) => name)).toEqual(["large"]);
  });
});
