/** A lone surrogate as `JSON.stringify` writes it: an escape whose backslash is not itself escaped. */
const loneSurrogate = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/** The longest name that the service takes, in UTF-16 units. */
const maxNameLength = 1_000;

/**
 * A value as JSON that the service takes, whatever the value is: what is no JSON is told in its place, and half characters,
 * which cannot be stored, become U+FFFD.
 * @returns undefined where there is nothing to record: for undefined, functions and symbols
 */
export function toJsonText(value: unknown): string | undefined {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text?.includes("\\ud") ? text.replace(loneSurrogate, "$1\\ufffd") : text;
  } catch (error) {
    return JSON.stringify(`[no JSON: ${messageOf(error)}]`);
  }
}

/** A text that the service takes: without NUL and half characters. What is no text, as untyped callers may give, is made one. */
export function toText(value: string): string {
  return String(value).toWellFormed().replaceAll("\0", "\ufffd");
}

/** A name that the service takes: neither empty nor too long. */
export function toName(value: string): string {
  return toText(String(value).slice(0, maxNameLength)) || "(no name)";
}

/** What is told of something that was thrown, whatever it is. */
export function messageOf(thrown: unknown): string {
  try {
    // By its shape, since an error may come from another realm.
    const { message, name } = Object(thrown) as { message?: unknown; name?: unknown };
    const told = [message, name].find((text) => typeof text === "string" && text !== "");
    return toText(String(told ?? thrown));
  } catch {
    return "something without a message was thrown";
  }
}

const encoder = new TextEncoder();

/** How many bytes a text has in UTF-8. */
export function byteLength(text: string | undefined): number {
  return text === undefined ? 0 : encoder.encode(text).byteLength;
}
