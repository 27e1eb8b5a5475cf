import { validationError } from "@waymark/errors";
import { textProblem } from "@waymark/service/fields";

/** A goal as somebody asks for it: a custom event, perhaps with a property's value, or a page pattern. */
export interface GoalInput {
  name?: string | undefined;
  event?: string | undefined;
  property?: string | undefined;
  value?: string | undefined;
  /** `*` stands for any text, ten times at most; the rest of the path must be the same. */
  page?: string | undefined;
}

/** What fulfils a goal. Absent parts are null. */
interface GoalRule {
  event: string | null;
  property: string | null;
  value: string | null;
  page: string | null;
}

export interface Goal extends GoalRule {
  id: string;
  name: string;
}

export const maxGoalsPerSite = 100;

const maxNameBytes = 200;

/** As events have them (`packages/web-stats/src/analytics`); a longer text would never match. */
const maxBytes = { event: 200, property: 200, value: 2_000, page: 2_000 } as const;

/** Goals of former releases may have more. */
const maxStars = 10;

type Fields = Record<string, string>;

/** Checks a goal. Without a name it gets its rule's. @throws AppError 400 with a message per field */
export function readGoal(input: GoalInput): Omit<Goal, "id"> {
  const { event = null, property = null, value = null, page = null } = input;
  const rule = { event, property, value, page };
  const fields: Fields = {};
  if (event === null && page === null) fields["event"] = "Required without page";
  if (event !== null && page !== null) fields["page"] = "Must not be given together with event";
  if (property !== null && event === null) fields["property"] = "Must be given together with event";
  if (property === null && value !== null) fields["property"] = "Required together with value";
  if (property !== null && value === null) fields["value"] = "Required together with property";
  for (const part of ["event", "property", "value", "page"] as const) {
    const problem = rule[part] !== null && lengthProblem(rule[part], maxBytes[part], part === "value" ? 0 : 1);
    if (problem) fields[part] = problem;
  }
  if ((page ?? "").split("*").length - 1 > maxStars) fields["page"] ??= `Must have at most ${maxStars} *`;
  const name = input.name ?? cut(nameOf(rule));
  const problem = nameProblem(name);
  if (input.name !== undefined && problem) fields["name"] = problem;
  if (Object.keys(fields).length > 0) throw validationError(fields);
  return { name, ...rule };
}

function nameOf({ event, property, value, page }: GoalRule): string {
  return page ?? (property === null ? (event ?? "") : `${event}: ${property}=${value}`);
}

/** The reason why a text is no name of a goal or funnel, if any. */
export function nameProblem(name: string): string | undefined {
  return name.trim() === "" ? "Must not be blank" : lengthProblem(name, maxNameBytes, 1);
}

function lengthProblem(text: string, max: number, min: number): string | undefined {
  const bytes = Buffer.byteLength(text);
  if (bytes < min) return "Must not be empty";
  return bytes > max ? `Must be at most ${max} bytes of UTF-8` : textProblem(text);
}

function cut(text: string): string {
  if (Buffer.byteLength(text) <= maxNameBytes) return text;
  const kept = Buffer.from(text).subarray(0, maxNameBytes - 3);
  // A character that was cut in half becomes U+FFFD.
  return `${new TextDecoder().decode(kept, { stream: true })}…`;
}
