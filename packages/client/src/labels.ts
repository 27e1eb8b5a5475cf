import type { NewTrace, TraceLabels } from "./api-types.js";
import { toText } from "./texts.js";

/** The limits of the service: longer texts are cut. */
const [maxLabel, maxTags, maxTag] = [200, 20, 100];

const cut = (value: unknown, length: number) => toText(String(value).slice(0, length)) || undefined;

/** The labels of a new trace; empty ones are left out. */
export function toLabels({
  tags,
  ...labels
}: Readonly<Record<string, unknown>>): TraceLabels & Pick<NewTrace, "visit"> {
  const text = (value: unknown) => (value === undefined || value === null ? undefined : cut(value, maxLabel));
  const list = Array.isArray(tags) ? [...new Set(tags.flatMap((tag) => cut(tag, maxTag) ?? []))].slice(0, maxTags) : [];
  const known = {
    session_id: text(labels["session_id"]),
    user_id: text(labels["user_id"]),
    environment: text(labels["environment"]),
    release: text(labels["release"]),
    visit: text(labels["visit"]),
    tags: list.length > 0 ? list : undefined,
  };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
}
