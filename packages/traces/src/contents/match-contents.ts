import { foldedPieces, foldText } from "./fold-text.js";
import type { Search } from "./search-terms.js";

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
