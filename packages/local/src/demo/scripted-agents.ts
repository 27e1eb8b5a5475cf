import type { Random } from "./random.js";
import { createDraft, type DemoTrace, type TraceDraft } from "./trace-draft.js";

const topics = [
  "heat pumps for old houses",
  "cargo bikes in cities",
  "oat milk in offices",
  "second-hand laptops",
  "repair of kitchen machines",
  "hotel bookings by small firms",
  "night trains in Europe",
] as const;

const angles = ["prices", "competitors", "complaints"] as const;

const failures = [
  "the searcher “complaints” failed: 403 Forbidden: robots.txt",
  "the searcher “competitors” failed: The page has no text",
  "the writer failed: 500 The server had an error while processing your request",
] as const;

/** Nested agents: a planner, searchers beside each other, a writer and a critic. */
export function draftMarketResearch(random: Random, { hasFailed }: { hasFailed: boolean }): DemoTrace {
  const draft = createDraft(random);
  const topic = random.pick(topics);
  const failure = hasFailed ? random.pick(failures) : undefined;
  const root = draft.open("agent: market-research", null, { topic, pages: 4 });
  const planner = draft.open("agent: planner", root, { topic });
  draft.step({
    name: "model call: claude-sonnet-4-5",
    parent: planner,
    ms: random.between(1_800, 4_000),
    input: [{ role: "user", content: `Plan a study of ${topic} in three parts.` }],
    output: { role: "assistant", content: angles.map((angle, index) => `${index + 1}. ${angle}`).join("\n") },
  });
  draft.close(planner, { output: angles });
  const isStopped = search(draft, { random, topic, root, failure });
  if (!isStopped) write(draft, { random, topic, root, failure });
  draft.close(root, failure ? { error: failure } : { output: { report: `reports/${topic.replaceAll(" ", "-")}.md` } });
  return {
    agentId: "market-research",
    name: `Study ${topic}`,
    status: hasFailed ? "error" : "success",
    metadata: { made_up: true, budget_usd: 0.4 },
    endMs: draft.now(),
    spans: draft.spans,
  };
}

interface Part {
  random: Random;
  topic: string;
  root: number;
  failure: string | undefined;
}

/** Three searchers begin together. Returns whether one of them ended the trace. */
function search(draft: TraceDraft, { random, topic, root, failure }: Part): boolean {
  const [began, ends] = [draft.now(), [] as number[]];
  const broken = angles.find((angle) => failure?.includes(`“${angle}”`));
  for (const angle of angles) {
    draft.rewind(began);
    const agent = draft.open(`agent: searcher (${angle})`, root, { query: `${topic} ${angle}` });
    const urls = [1, 2, 3].map((n) => `https://example.com/${angle}/${n}`);
    draft.step({
      name: "tool: web_search",
      parent: agent,
      ms: random.between(300, 1_100),
      input: { query: `${topic} ${angle}`, count: 3 },
      output: urls,
    });
    const error = angle === broken ? failure?.split(" failed: ")[1] : undefined;
    for (const url of urls) {
      const fetching = { name: "tool: fetch_page", parent: agent, ms: random.between(200, 2_400), input: { url } };
      draft.step(error === undefined ? { ...fetching, output: { url, words: 1_240 } } : { ...fetching, error });
      if (error !== undefined) break;
    }
    if (error === undefined) {
      draft.step({
        name: "model call: claude-haiku-4-5",
        parent: agent,
        ms: random.between(1_200, 5_000),
        input: [{ role: "user", content: `Summarize three pages about ${angle} of ${topic}.` }],
        output: { role: "assistant", content: `Three sources agree on ${angle}; one of them is from last year.` },
      });
    }
    draft.close(agent, error === undefined ? { output: { sources: urls } } : { error });
    ends.push(draft.now());
  }
  draft.rewind(Math.max(...ends));
  return broken !== undefined;
}

function write(draft: TraceDraft, { random, topic, root, failure }: Part): void {
  const error = failure?.split(" failed: ")[1];
  const writer = draft.open("agent: writer", root, { topic });
  const drafting = {
    name: "model call: claude-sonnet-4-5",
    parent: writer,
    ms: random.between(9_000, 24_000),
    input: [{ role: "user", content: `Write four pages about ${topic}. Cite each number.` }],
  };
  draft.step(
    error === undefined
      ? { ...drafting, output: { role: "assistant", content: `# ${topic}` } }
      : { ...drafting, error },
  );
  draft.close(writer, error === undefined ? {} : { error });
  if (error !== undefined) return;
  const critic = draft.open("agent: critic", root);
  draft.step({
    name: "model call: gpt-4o-mini",
    parent: critic,
    ms: random.between(2_000, 5_000),
    input: [{ role: "user", content: "List claims without a source." }],
    output: { role: "assistant", content: "None found." },
  });
  draft.close(critic, { output: { claims_without_source: 0 } });
}

const changes = [
  "api: answer 404 for a deleted project",
  "web: keep the filter after a reload",
  "mail: send the digest at nine",
  "ci: cache the browsers",
  "web: show the time zone beside dates",
] as const;

const reviewMinutes = { short: [2, 14], long: [190, 230] } as const;

/** Notes written, shown to a person and published: most of the time nothing works. */
export function draftReleaseNotes(
  random: Random,
  { version, hasTimedOut, review }: { version: string; hasTimedOut: boolean; review: keyof typeof reviewMinutes },
): DemoTrace {
  const draft = createDraft(random);
  const root = draft.open("agent: release-notes", null, { version });
  const merged = changes.filter(() => random.next() < 0.7);
  draft.step({ name: "tool: list_merged_changes", parent: root, ms: random.between(300, 900), output: merged });
  const model = "model call: claude-sonnet-4-5";
  const request = [{ role: "user", content: `Write notes for ${version} from ${merged.length} changes.` }];
  const text = `## ${version}\n\n${merged.map((line) => `- ${line}`).join("\n")}`;
  const output = { role: "assistant", content: text };
  draft.step({ name: model, parent: root, ms: random.between(3_000, 8_000), input: request, output });
  const reviewer = { channel: "#releases", version };
  draft.step({ name: "tool: ask_for_review", parent: root, ms: random.between(150, 400), input: reviewer });
  const [low, high] = reviewMinutes[review];
  draft.wait(random.between(low, high) * 60_000);
  const error = hasTimedOut ? "Nobody approved the notes in time" : undefined;
  if (error === undefined) {
    draft.step({ name: "tool: read_review", parent: root, ms: random.between(100, 300), output: { approved: true } });
    draft.step({ name: model, parent: root, ms: random.between(2_000, 4_000), input: request, output });
    draft.step({
      name: "tool: publish",
      parent: root,
      ms: random.between(400, 1_200),
      output: { url: `/releases/${version}` },
    });
  } else {
    draft.step({ name: "tool: read_review", parent: root, ms: random.between(100, 300), error });
  }
  draft.close(root, error === undefined ? { output: { published: true } } : { error });
  return {
    agentId: "release-notes",
    name: `Write the notes of ${version}`,
    status: hasTimedOut ? "timeout" : "success",
    metadata: { version, made_up: true },
    endMs: draft.now(),
    spans: draft.spans,
  };
}

const vendors = ["Nordlicht Strom", "Papier Weber", "Hosting & Co", "Café Anders", "Kurier Blitz"] as const;

const readFailures = [
  "Expected a number at total, got “1.284,50 EUR”",
  "The PDF is encrypted",
  "HTTP 409 from ledger.internal: period 2026-10 is closed",
] as const;

/**
 * A batch of invoices, four spans each.
 * @param ending the batch's end: all booked, stopped by an invoice, or ended by the time limit of a batch
 */
export function draftInvoiceReader(
  random: Random,
  { number, invoices, ending }: { number: number; invoices: number; ending: "success" | "error" | "timeout" },
): DemoTrace {
  const draft = createDraft(random);
  const root = draft.open("agent: invoice-reader", null, { batch: number, invoices });
  draft.step({ name: "tool: list_inbox", parent: root, ms: random.between(80, 300), output: { files: invoices } });
  draft.step({ name: "load booking rules", parent: root, ms: random.between(10, 40), output: { rules: 118 } });
  const stopsAt = ending === "success" ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(invoices * 0.6));
  let error: string | undefined;
  for (let n = 1; n <= invoices && error === undefined; n++) {
    const file = `invoice-${String(number * 1_000 + n).padStart(7, "0")}.pdf`;
    const invoice = draft.open(`read ${file}`, root, { file });
    draft.step({
      name: "tool: extract_text",
      parent: invoice,
      ms: random.between(20, 120),
      input: { file },
      output: { pages: 1, characters: Math.floor(random.between(600, 2_400)) },
    });
    const total = random.between(12, 900).toFixed(2);
    const vendor = random.pick(vendors);
    const reading = { name: "model call: gpt-4o-mini", parent: invoice, ms: random.between(350, 1_300) };
    const messages = [{ role: "user", content: `Read vendor, date and total of ${file} as JSON.` }];
    draft.step({
      ...reading,
      input: messages,
      output: { role: "assistant", content: `{"vendor":"${vendor}","total":${total}}` },
    });
    if (n === stopsAt)
      error = ending === "timeout" ? "The batch took longer than ten minutes" : random.pick(readFailures);
    if (ending === "timeout" && error) draft.wait(600_000);
    const booking = {
      name: "tool: book_entry",
      parent: invoice,
      ms: random.between(30, 140),
      input: { vendor, total },
    };
    draft.step(error === undefined ? { ...booking, output: { entry: 40_000 + n } } : { ...booking, error });
    draft.close(invoice, error === undefined ? { output: { vendor, total } } : { error });
  }
  if (error === undefined) {
    draft.step({ name: "tool: send_report", parent: root, ms: random.between(100, 250), output: { booked: invoices } });
  }
  draft.close(root, error === undefined ? { output: { booked: invoices } } : { error });
  return {
    agentId: "invoice-reader",
    name: `Book ${invoices} invoice${invoices === 1 ? "" : "s"} of batch ${number}`,
    status: ending,
    metadata: { batch: number, made_up: true },
    endMs: draft.now(),
    spans: draft.spans,
  };
}
