/** A piece of a trace's JSON: up to `"spans":[`, a span, or from `]` on. */
export interface TracePiece {
  kind: "head" | "span" | "tail";
  json: string;
}

/**
 * Splits a trace's JSON, which comes in chunks, into its spans and what is around them. Nothing is parsed, so contents stay as
 * they are.
 */
export async function* splitTrace(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<TracePiece> {
  let kind: TracePiece["kind"] = "head";
  let depth = 0;
  let isText = false;
  let isEscaped = false;
  let piece = "";
  for await (const chunk of chunks) {
    let start = 0;
    for (let index = 0; index < chunk.length && kind !== "tail"; index++) {
      const character = chunk[index];
      if (isEscaped) isEscaped = false;
      else if (isText) {
        isEscaped = character === "\\";
        isText = character !== '"';
      } else if (character === '"') isText = true;
      else if (character === "{" || character === "[") {
        // Between spans there is a comma alone.
        if (kind === "span" && depth === 2) start = index;
        depth++;
        if (kind === "head" && depth === 2 && chunk.slice(0, index).endsWith('"spans":')) {
          yield { kind, json: chunk.slice(start, index + 1) };
          kind = "span";
        }
      } else if (character === "}" || character === "]") {
        depth--;
        if (kind === "span" && depth === 2) {
          yield { kind, json: piece + chunk.slice(start, index + 1) };
          piece = "";
        } else if (kind === "span" && depth === 1) {
          kind = "tail";
          start = index;
        }
      }
    }
    if (kind !== "span" || depth > 2) piece += chunk.slice(start);
  }
  yield { kind: "tail", json: piece };
}
