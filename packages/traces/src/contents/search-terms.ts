import { foldText } from "./fold-text.js";

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
