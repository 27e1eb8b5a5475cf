import { closingQuote } from "./json-members.js";

/** Writes valid JSON in one line, or with an indent as `JSON.stringify`. Strings, numbers and doubled keys stay as they are. */
export function layOutJson(text: string, indent = 0): string {
  let out = "";
  let depth = 0;
  const line = () => (indent > 0 ? `\n${" ".repeat(indent * depth)}` : "");
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    if (character === '"') {
      const close = closingQuote(text, i);
      out += text.slice(i, close + 1);
      i = close;
    } else if (character === "{" || character === "[") {
      const end = closeOfEmpty(text, i);
      if (end > 0) {
        out += character + text.charAt(end);
        i = end;
      } else {
        depth++;
        out += character + line();
      }
    } else if (character === "}" || character === "]") {
      depth--;
      out += line() + character;
    } else if (character === ",") out += character + line();
    else if (character === ":") out += indent > 0 ? ": " : ":";
    else if (!isSpace(character)) out += character;
  }
  return out;
}

/** The index of the bracket that closes an empty list or object; 0 for others. */
function closeOfEmpty(text: string, open: number): number {
  let i = open + 1;
  while (isSpace(text.charAt(i))) i++;
  return text.charAt(i) === "}" || text.charAt(i) === "]" ? i : 0;
}

/** White space of JSON (RFC 8259, section 2). */
function isSpace(character: string): boolean {
  return character === " " || character === "\n" || character === "\r" || character === "\t";
}
