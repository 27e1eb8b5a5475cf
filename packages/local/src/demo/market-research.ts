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
