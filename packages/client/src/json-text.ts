/** A lone surrogate as `JSON.stringify` escapes it, after any escaped backslashes. */
const loneSurrogate = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/** The service's limit, in UTF-16 units. */
const maxNameLength = 1_000;

/**
 * Any value as JSON for the service. The reason replaces a value that is no JSON; lone surrogates, which cannot be stored,
 * become U+FFFD.
 * @returns undefined for undefined, functions and symbols
 */
export function toJsonText(value: unknown): string | undefined {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text?.includes("\\ud") ? text.replace(loneSurrogate, "$1\\ufffd") : text;
  } catch (error) {
    return JSON.stringify(`[no JSON: ${messageOf(error)}]`);
  }
}

/** A value as JSON, if that is an object: a service that refused other attributes would refuse their span. */
export function toObjectText(value: unknown): string | undefined {
  const text = toJsonText(value);
  return text?.startsWith("{") ? text : undefined;
}

/** A text without NUL and lone surrogates. Untyped callers may pass other values. */
export function toText(value: string): string {
  return String(value).toWellFormed().replaceAll("\0", "\ufffd");
}

export function toName(value: string): string {
  return toText(String(value).slice(0, maxNameLength)) || "(no name)";
}

export function messageOf(thrown: unknown): string {
  try {
    // Not by `instanceof`: an error may come from another realm.
    const { message, name } = Object(thrown) as { message?: unknown; name?: unknown };
    const text = [message, name].find((text) => typeof text === "string" && text !== "");
    return toText(String(text ?? thrown));
  } catch {
    return "something without a message was thrown";
  }
}

const encoder = new TextEncoder();

export function byteLength(text: string | undefined): number {
  return text === undefined ? 0 : encoder.encode(text).byteLength;
}
