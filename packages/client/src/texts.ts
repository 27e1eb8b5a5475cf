/** The service's limit, in UTF-16 units. */
const maxNameLength = 1_000;
const maxErrorLength = 20_000;
const maxCauses = 5;

/** A text without NUL and lone surrogates. Untyped callers may pass other values. */
export function toText(value: unknown): string {
  try {
    return String(value).toWellFormed().replaceAll("\0", "\ufffd");
  } catch {
    return "[a value without a text]";
  }
}

export function toName(value: unknown): string {
  return toText(toText(value).slice(0, maxNameLength)) || "(no name)";
}

/** Not by `instanceof` alone: an error may come from another realm. */
export function isError(value: unknown): value is Error {
  if (value instanceof Error) return true;
  if (typeof value !== "object" || value === null) return false;
  const { message, stack } = value as Partial<Error>;
  return typeof message === "string" && typeof stack === "string";
}

export function classOf(error: Error): string {
  const { name } = error;
  if (typeof name === "string" && name !== "" && name !== "Error") return name;
  return error.constructor?.name || "Error";
}

/** An error and its causes, the outermost first. */
function chainOf(error: Error): Error[] {
  const chain = [error];
  let cause: unknown = error.cause;
  while (isError(cause) && chain.length <= maxCauses && !chain.includes(cause)) {
    chain.push(cause);
    cause = cause.cause;
  }
  return chain;
}

function lineOf(error: Error): string {
  return error.message ? `${classOf(error)}: ${error.message}` : classOf(error);
}

export interface Thrown {
  /** Class and message of the error, and those of its causes; of other values their text. */
  readonly text: string;
  readonly attributes: Readonly<Record<string, string>> | undefined;
}

/** @param textOf the text of a thrown object that is no error */
export function describeThrown(thrown: unknown, textOf: (value: unknown) => string = toText): Thrown {
  try {
    if (!isError(thrown)) {
      const text = typeof thrown === "object" && thrown !== null ? textOf(thrown) : toText(thrown);
      return { text: toText(text.slice(0, maxErrorLength)), attributes: undefined };
    }
    const chain = chainOf(thrown);
    const stack = chain.map((error) => (typeof error.stack === "string" ? error.stack : lineOf(error)));
    const cut = (parts: string[]) => toText(parts.join("\nCaused by: ").slice(0, maxErrorLength));
    const attributes = { "exception.type": toName(classOf(thrown)), "exception.stacktrace": cut(stack) };
    return { text: cut(chain.map(lineOf)), attributes };
  } catch {
    return { text: "something without a text was thrown", attributes: undefined };
  }
}

/** What a person reads of an error: its message, without its class. */
export function messageOf(thrown: unknown): string {
  try {
    return isError(thrown) ? toText(thrown.message || thrown.name) : toText(thrown);
  } catch {
    return "something without a text was thrown";
  }
}

const encoder = new TextEncoder();

export function byteLength(text: string | undefined): number {
  return text === undefined ? 0 : encoder.encode(text).byteLength;
}
