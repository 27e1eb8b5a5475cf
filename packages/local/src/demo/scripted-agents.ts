import { chat, type DemoTrace, draftTrace, type TraceDraft } from "./draft-trace.js";
import type { Random } from "./random.js";

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

/** The searcher or writer that fails, and its error. */
const failures = [
  ["complaints", "403 Forbidden: robots.txt"],
  ["competitors", "The page has no text"],
  ["writer", "500 The server had an error while processing your request"],
] as const;

/** Nested agents: a planner, searchers beside each other, a writer and a critic. */
export function draftMarketResearch(random: Random, { hasFailed }: { hasFailed: boolean }): DemoTrace {
  const topic = random.pick(topics);
  const [broken, failure] = hasFailed ? random.pick(failures) : [];
  const about = {
    agentId: "market-research",
    name: `Study ${topic}`,
    status: hasFailed ? "error" : "success",
    metadata: { made_up: true, budget_usd: 0.4 },
    input: { topic, pages: 4 },
  } as const;
  return draftTrace(random, about, (draft) => {
    draft.within("agent: planner", { topic }, () => {
      const plan = angles.map((angle, index) => `${index + 1}. ${angle}`).join("\n");
      const request = `Plan a study of ${topic} in three parts.`;
      draft.step("model call: claude-sonnet-4-5", [1_800, 4_000], chat(request, plan));
      return angles;
    });
    draft.beside(angles.map((angle) => () => search(draft, topic, angle, angle === broken ? failure : undefined)));
    draft.within("agent: writer", { topic }, () => {
      const pages = chat(`Write four pages about ${topic}. Cite each number.`, `# ${topic}`);
      const error = broken === "writer" ? failure : undefined;
      draft.step("model call: claude-sonnet-4-5", [9_000, 24_000], { ...pages, error });
    });
    draft.within("agent: critic", undefined, () => {
      draft.step("model call: gpt-4o-mini", [2_000, 5_000], chat("List claims without a source.", "None found."));
      return { claims_without_source: 0 };
    });
    return { report: `reports/${topic.replaceAll(" ", "-")}.md` };
  });
}

function search(draft: TraceDraft, topic: string, angle: string, error: string | undefined): void {
  const query = `${topic} ${angle}`;
  draft.within(`agent: searcher (${angle})`, { query }, () => {
    const sources = [1, 2, 3].map((n) => `https://example.com/${angle}/${n}`);
    draft.step("tool: web_search", [300, 1_100], { input: { query, count: 3 }, output: sources });
    for (const url of sources) {
      draft.step("tool: fetch_page", [200, 2_400], { input: { url }, output: { url, words: 1_240 }, error });
    }
    const summary = `Three sources agree on ${angle}; one of them is from last year.`;
    const request = `Summarize three pages about ${angle} of ${topic}.`;
    draft.step("model call: claude-haiku-4-5", [1_200, 5_000], chat(request, summary));
    return { sources };
  });
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
  const about = {
    agentId: "release-notes",
    name: `Write the notes of ${version}`,
    status: hasTimedOut ? "timeout" : "success",
    metadata: { version, made_up: true },
    input: { version },
  } as const;
  return draftTrace(random, about, (draft) => {
    const merged = changes.filter(() => random.next() < 0.7);
    draft.step("tool: list_merged_changes", [300, 900], { output: merged });
    const text = `## ${version}\n\n${merged.map((line) => `- ${line}`).join("\n")}`;
    const writing = chat(`Write notes for ${version} from ${merged.length} changes.`, text);
    draft.step("model call: claude-sonnet-4-5", [3_000, 8_000], writing);
    draft.step("tool: ask_for_review", [150, 400], { input: { channel: "#releases", version } });
    const [low, high] = reviewMinutes[review];
    draft.wait(random.between(low, high) * 60_000);
    const error = hasTimedOut ? "Nobody approved the notes in time" : undefined;
    draft.step("tool: read_review", [100, 300], { output: { approved: true }, error });
    draft.step("model call: claude-sonnet-4-5", [2_000, 4_000], writing);
    draft.step("tool: publish", [400, 1_200], { output: { url: `/releases/${version}` } });
    return { published: true };
  });
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
  const stopsAt = ending === "success" ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(invoices * 0.6));
  const failure = ending === "timeout" ? "The batch took longer than ten minutes" : random.pick(readFailures);
  const about = {
    agentId: "invoice-reader",
    name: `Book ${invoices} invoice${invoices === 1 ? "" : "s"} of batch ${number}`,
    status: ending,
    metadata: { batch: number, made_up: true },
    input: { batch: number, invoices },
  };
  return draftTrace(random, about, (draft) => {
    draft.step("tool: list_inbox", [80, 300], { output: { files: invoices } });
    draft.step("load booking rules", [10, 40], { output: { rules: 118 } });
    for (let n = 1; n <= invoices; n++) {
      const file = `invoice-${String(number * 1_000 + n).padStart(7, "0")}.pdf`;
      const [vendor, total] = [random.pick(vendors), random.between(12, 900).toFixed(2)];
      draft.within(`read ${file}`, { file }, () => {
        const characters = Math.floor(random.between(600, 2_400));
        draft.step("tool: extract_text", [20, 120], { input: { file }, output: { pages: 1, characters } });
        const request = `Read vendor, date and total of ${file} as JSON.`;
        const answer = `{"vendor":"${vendor}","total":${total}}`;
        draft.step("model call: gpt-4o-mini", [350, 1_300], chat(request, answer));
        if (n === stopsAt && ending === "timeout") draft.wait(600_000);
        const error = n === stopsAt ? failure : undefined;
        draft.step("tool: book_entry", [30, 140], { input: { vendor, total }, output: { entry: 40_000 + n }, error });
        return { vendor, total };
      });
    }
    draft.step("tool: send_report", [100, 250], { output: { booked: invoices } });
    return { booked: invoices };
  });
}
