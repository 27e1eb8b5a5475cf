import { foldedPieces, foldText } from "./fold-text.js";

export const maxSearchLength = 200;
const maxTerms = 20;
/** Stands between the texts of a trace, so that no term spans two of them. */
export const textSeparator = "\u0001";

export interface Search {
  /** Folded. */
  terms: readonly string[];
  /** Tells other terms apart: a cursor within a trace remembers which terms it has found. */
  hash: number;
}

/** Words are terms, and so is what stands between two quotes, with its spaces. */
export function readSearch(text: string): Search {
  const words = [...text.matchAll(/"([^"]*)"?|[^\s"]+/gu)].map(([word, phrase]) => phrase ?? word);
  const terms = [...new Set(words.map(foldText).filter((term) => term.trim() !== ""))];
  let hash = 0x811c9dc5;
  for (const unit of terms.join(textSeparator)) hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193);
  return { terms, hash: hash >>> 0 };
}

export function searchProblem(text: string): string | undefined {
  if (/[^\P{Cc}\t\n\r]/u.test(text)) return "Must not contain control characters other than tabs and line ends";
  const { terms } = readSearch(text);
  if (terms.length === 0) return "Must have a word, or a phrase in quotes";
  return terms.length > maxTerms ? `Must have at most ${maxTerms} words and phrases` : undefined;
}

/** Units of texts between two rounds of the event loop: some milliseconds. */
const unitsPerRound = 131_072;

export function createMatcher({ terms }: Search) {
  const longest = terms.reduce((most, term) => Math.max(most, term.length), 0);
  let missing: readonly string[] = terms;
  let units = 0;
  return {
    /** Begins with another trace. @param found bits of the terms that an earlier request has found in it */
    begin(name: string, found = 0): void {
      const folded = foldText(name);
      missing = terms.filter((term, n) => ((found >>> n) & 1) === 0 && !folded.includes(term));
    },
    *look(text: string, isJson: boolean): Generator<void, void, void> {
      for (const piece of missing.length === 0 ? [] : foldedPieces(text, isJson, longest - 1)) {
        missing = missing.filter((term) => !piece.includes(term));
        if (missing.length === 0) return;
        units += piece.length;
        if (units < unitsPerRound) continue;
        units = 0;
        yield;
      }
    },
    hasAll: () => missing.length === 0,
    found: () => terms.reduce((bits, term, n) => (missing.includes(term) ? bits : bits | (1 << n)), 0),
  };
}
