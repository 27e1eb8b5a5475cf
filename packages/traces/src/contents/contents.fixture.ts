import fc from "fast-check";

/** Letters with odd cases, ideographs, kana, syllables, right-to-left scripts, pairs of surrogates, ids and code. */
const alphabets = [
  "refund order invoice agent ",
  "Straße STRASSE ẞ über ÜBER ﬁ ﬀ ſ K İ ı ŉ Å ",
  "ΣΟΦΟΣ σοφός ΑΣ ας ",
  "заказ ЗАКАЗ возврат ",
  "東京都の注文を返金してください。カード ",
  "주문을 환불 ",
  "طلب استرداد हिन्दी ไทย ",
  "👩‍💻😀𐐀𐐨𠮷 ",
  "0123456789abcdef-ABCDEF",
  'if (a["b"] != \\n) { return `\\\\u00e9`; }\t\n\r/"\\',
].map((letters) => [...letters]);

/** A text of one script, now and then of several. */
export const text = fc
  .oneof(fc.constantFrom(...alphabets), fc.constant(alphabets.flat()))
  .chain((letters) => fc.array(fc.constantFrom(...letters), { maxLength: 30 }))
  .map((letters) => letters.join(""));

/** JSON with a text: as a string or deeper, with its characters or with their escapes, as Python's `json.dumps` writes them. */
export const jsonOf = (content: fc.Arbitrary<string>) =>
  fc
    .tuple(content, fc.constantFrom("plain", "escaped"), fc.constantFrom("string", "object", "nested"))
    .map(([own, way, shape]) => {
      const value = shape === "string" ? own : { messages: [{ role: "user", content: own }], n: 1.5 };
      const json = JSON.stringify(shape === "nested" ? [value, JSON.stringify(value)] : value);
      return way === "plain" ? json : escapeAll(json);
    });

function escapeAll(json: string): string {
  return json.replace(/[^\0-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** What searches take for the same, a character after the other. */
export function foldEach(own: string): string {
  return [...own].map((each) => each.toLowerCase().toUpperCase().toLowerCase().replace("ς", "σ")).join("");
}

/** The text that a JSON text stands for, a unit after the other. */
export function plainOf(json: string): string {
  let plain = "";
  for (let at = 0; at < json.length; at++) {
    if (json[at] !== "\\") {
      plain += json[at];
      continue;
    }
    const isCode = json[at + 1] === "u";
    const own = json.slice(at, at + (isCode ? 6 : 2));
    plain += JSON.parse(`"${own}"`);
    at += own.length - 1;
  }
  return plain;
}
