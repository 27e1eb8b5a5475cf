/** Longer texts are cut first, so hostile ones cost little. */
export const maxErrorInput = 1_000;
const maxTextLength = 300;

/** The status codes of HTTP for failed requests. */
const status = "(?:4(?:0[0-9]|1[0-8]|2[1-9]|31|51|99)|5(?:0[0-9]|1[01]|2[0-9]|30))";
const notInNumber = "(?![0-9a-z_]|[.,][0-9])";
const reason =
  "(?:bad|unauth|forbidden|(?:page )?not found|method|request|conflict|gone|payload|content|unprocess|too many|internal|service|gateway|overloaded|client|server|error|time-?out)";
const isAssigned = `["'\\])]{0,2}\\s{0,2}[:=(#[]?\\s{0,2}["']?`;

/** Codes that tell failures apart: they stay. Each repetition of a choice is bounded. */
const codes = [
  `["']?(?:http(?:/[0-9](?:\\.[0-9])?)?|(?:error|return|response)?[ _-]?(?:status|code)|errno|signal|exit(?:ed)?)` +
    `(?:[ _-]?(?:code|status|with|of|is|was)){0,3}${isAssigned}-?[0-9]{1,3}${notInNumber}`,
  `exit(?:ed)?(?:[ _-]?(?:code|status|with)){1,2}${isAssigned}(?:0x[0-9a-f]{1,8}|-?[0-9]{1,10})${notInNumber}`,
  `sqlstate${isAssigned}[0-9a-z]{5}${notInNumber}`,
  `["']?(?:code|type)["']?\\s{0,2}[:=]\\s{0,2}["'][a-z_.-]{1,60}["']`,
  `(?:error|exception|returned|returns|answered|responded|response|replied|received|got|gave|threw|failed|with)(?: (?:with|an?))?:?\\s{0,2}${status}${notInNumber}`,
  `(?:(?<=^|[:;,]\\s?)${status}(?=\\s(?:-|${reason}))|(?<=^)${status}(?=$|:)|(?<=[([])${status}(?=[)\\]]))`,
  // JSON-RPC, and so the Model Context Protocol.
  `(?<![0-9a-z_.])-32[0-9]{3}${notInNumber}`,
];

/**
 * Tokens that differ from trace to trace, after codes that do not; the first alternative that matches at a place counts. No
 * alternative tries a text twice, so time grows with the length alone.
 */
const tokens = new RegExp(
  [
    "(?<url>(?<![0-9a-z+.-])[a-z][0-9a-z+.-]{1,20}://[^\\s\"'`<>“”]*)",
    `(?<code>${codes.join("|")})`,
    "(?<quoted>\"[^\"\\n]*\"|`[^`\\n]*`|“[^“”\\n]*”|‘[^‘’\\n]*’|«[^«»\\n]*»|(?<![\\p{L}\\p{N}])'[^'\\n]*'(?![\\p{L}\\p{N}]))",
    "(?<![0-9a-z])(?<uuid>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?![0-9a-z])",
    "(?<![0-9a-z])(?![0-9]+(?![0-9a-z]))(?<run>[0-9a-z]{2,})(?![0-9a-z])",
    "(?<dotted>[0-9]+(?:\\.[0-9]+){2,})",
    "(?<number>[0-9]+(?:,[0-9]{3})*(?:\\.[0-9]+)?(?:e[+-]?[0-9]+)?)",
  ].join("|"),
  "giu",
);

const quotedStatus = new RegExp(`^${status} [a-z][a-z' -]*$`, "i");
const errorClass = /^(?:[A-Z][0-9A-Za-z.]*(?:Error|Exception)|[a-z_.]*(?:error|exception))$/;
const maxKeptQuotation = 80;

type Token = Partial<Record<"url" | "code" | "quoted" | "uuid" | "run" | "dotted" | "number", string>>;

function replacementOf(token: string, { url, code, quoted, uuid, run, dotted }: Token): string {
  if (url !== undefined) return "URL";
  if (code !== undefined) return token;
  if (quoted !== undefined) {
    const inner = token.slice(1, -1);
    const isKept = token.length <= maxKeptQuotation && (quotedStatus.test(inner) || errorClass.test(inner));
    return isKept ? token : '"…"';
  }
  if (uuid !== undefined) return "ID";
  if (run !== undefined) return replaceRun(run);
  return dotted === undefined ? "N" : dotted.replace(/[0-9]+/g, "N");
}

/** A word of letters and digits: an id, the class of an error, or letters beside numbers. */
function replaceRun(run: string): string {
  if (/^0x[0-9a-f]+$/i.test(run)) return "ID";
  if (run.length >= 8 && /^[0-9a-f]+$/i.test(run)) return "ID";
  const digits = run.match(/[0-9]+/g);
  if (!digits || errorClass.test(run)) return run;
  if (/^[0-9]+e[0-9]+$/i.test(run)) return "N";
  const isMixed = run.length >= 7 && digits.length >= 2 && digits.join("").length >= 3;
  return isMixed || run.length >= 16 ? "ID" : run.replace(/[0-9]+/g, "N");
}

/**
 * The text that errors, or names of spans, of one kind share: numbers become `N`, UUIDs, hexadecimal and other ids `ID`, addresses
 * `URL`, quoted text `"…"`. Codes of HTTP, JSON-RPC, SQL and processes stay, and so do classes of errors. At most 300 characters.
 */
export function normalizeError(error: string): string {
  // The cut may fall into a quotation.
  const input = error.length > maxErrorInput ? `${error.slice(0, maxErrorInput)}"` : error;
  let [text, end] = ["", 0];
  for (const match of input.matchAll(tokens)) {
    text += input.slice(end, match.index) + replacementOf(match[0], match.groups as Token);
    end = match.index + match[0].length;
    // A character has two units at most.
    if (text.length > 2 * maxTextLength) break;
  }
  text += input.slice(end);
  return [...text.trim().toWellFormed()].slice(0, maxTextLength).join("");
}
