/** Texts are folded in pieces: a piece of this many UTF-16 units takes a millisecond. */
const pieceUnits = 65_536;
const escapeUnits = "\\uXXXX".length;

/** A text without its case: by Unicode's full mappings, so that `Straße` is `STRASSE`. A part folds to a part. */
export function foldText(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase();
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ");
}

/** In pieces, each after the last `overlap` units of the one before. @param isJson whether it has escapes */
export function* foldedPieces(text: string, isJson: boolean, overlap: number): Generator<string, void, void> {
  let [before, half] = ["", ""];
  for (let from = 0; from < text.length; ) {
    const to = isJson ? endOfPiece(text, from) : Math.min(from + pieceUnits, text.length);
    let piece = half + (isJson ? unescapeJson(text.slice(from, to)) : text.slice(from, to));
    half = to < text.length && /[\ud800-\udbff]$/.test(piece) ? piece.slice(-1) : "";
    if (half !== "") piece = piece.slice(0, -1);
    const folded = before + foldText(piece);
    yield folded;
    before = overlap === 0 ? "" : folded.slice(-overlap);
    from = to;
  }
}

/** An end that is not within an escape. `from` is in none either. */
function endOfPiece(text: string, from: number): number {
  const end = from + pieceUnits;
  if (end >= text.length) return text.length;
  // One further back is over by then.
  const start = end - escapeUnits + 1;
  const last = start + text.slice(start, end).lastIndexOf("\\");
  if (last < start) return end;
  let first = last;
  while (first > from && text[first - 1] === "\\") first--;
  const isEscaped = (last - first) % 2 === 1;
  return isEscaped ? end : last;
}

const escapes: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function unescapeJson(json: string): string {
  if (!json.includes("\\")) return json;
  return json.replace(/\\(?:u([0-9a-f]{4})|(.))/gis, (_all, code: string | undefined, letter: string) =>
    code === undefined ? (escapes[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
