import type { Random } from "./random.js";
import { createDraft, type DemoTrace } from "./trace-draft.js";

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
