/** A JSON string up to its end, or to the end of a cut text. */
const string = String.raw`"((?:[^"\\]|\\.)*)`;
const key = (names: string) => new RegExp(`"(?:${names})"\\s{0,9}:\\s{0,9}${string}`);
const spoken = key("content|text");
const asked = key("content|text|input|prompt|question|query|message|output|answer|result|response");
const whole = new RegExp(string);
/** A string that is no name of a member. */
const anyValue = new RegExp(String.raw`[:,[]\s{0,9}${string}(?:"(?!\s{0,9}:)|$)`);

/**
 * The text that a person would read in an input or output: a string itself, the last message of a role, a member with a usual
 * name, else the first string.
 * @param json the beginning of JSON text; its end, where that is apart
 */
export function textWithin(
  [json, end]: readonly [json: string, end: string | null],
  role: "user" | "assistant",
  maxLength: number,
): string {
  const text = json.startsWith('"') ? whole.exec(json) : (lastMessage(end ?? json, role) ?? firstText(json));
  const plain = text ? unescaped(text[1] ?? "") : json;
  const short = plain.length > maxLength ? `${plain.slice(0, maxLength - 1)}…` : plain;
  return short.toWellFormed().replaceAll("\u0000", "\ufffd").trim();
}

/** Senders write the role before the content, or after it. */
function lastMessage(json: string, role: string) {
  const at = json.lastIndexOf(`"${role}"`);
  return at < 0 ? null : spoken.exec(json.slice(Math.max(0, json.lastIndexOf("{", at))));
}

const firstText = (json: string) => asked.exec(json) ?? anyValue.exec(json);

function unescaped(text: string): string {
  // A cut may have left half of an escape.
  const whole = text.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, "");
  try {
    return JSON.parse(`"${whole}"`) as string;
  } catch {
    return whole;
  }
}
