import { type Budget, matchInOrder } from "./match.js";

export interface Piece {
  text: string;
  isSame: boolean;
}

/** Between the first and the last difference; longer texts differ there as a whole. */
const maxCharacters = 40_000;
const maxTokens = 8_000;
/** Some milliseconds. */
const maxSteps = 300_000;
/** A text in more pieces reads better as one that differs. */
const maxPieces = 200;

/** The pieces of two texts, those that both have marked, by words. Each text is whole: its pieces joined. */
export function compareTexts(left: string, right: string): [left: Piece[], right: Piece[]] {
  const shorter = Math.min(left.length, right.length);
  let start = 0;
  while (start < shorter && left.charCodeAt(start) === right.charCodeAt(start)) start++;
  start = wordEdge(left, start, -1);
  let same = 0;
  const most = shorter - start;
  while (same < most && left.charCodeAt(left.length - 1 - same) === right.charCodeAt(right.length - 1 - same)) same++;
  same = left.length - wordEdge(left, left.length - same, 1);
  const middles = [left, right].map((text) => text.slice(start, text.length - same));
  const between = piecesOf(middles[0] ?? "", middles[1] ?? "");
  return [left, right].map((text, side) => {
    const [head, tail] = [text.slice(0, start), text.slice(text.length - same)];
    return joined([{ text: head, isSame: true }, ...(between[side] ?? []), { text: tail, isSame: true }]);
  }) as [Piece[], Piece[]];
}

const word = /[\p{L}\p{M}\p{N}_]/u;
const tokens = /[\p{L}\p{M}\p{N}_]{1,24}|\s+|[\s\S]/gu;

/** Whether a place divides a word or a sign of two units. */
function isWithinWord(text: string, at: number): boolean {
  const [before, after] = [text[at - 1] ?? "", text[at] ?? ""];
  return /[\ud800-\udbff]/.test(before) || (word.test(before) && word.test(after));
}

/** A longer word is divided where it differs. */
const maxWord = 24;

/** The nearest edge of a word before (-1) or after (1) a place. */
function wordEdge(text: string, at: number, step: -1 | 1): number {
  const isDivided = (place: number) => place > 0 && place < text.length && isWithinWord(text, place);
  for (let moved = 0; moved < maxWord; moved++) if (!isDivided(at + moved * step)) return at + moved * step;
  return /[\ud800-\udbff]/.test(text[at - 1] ?? "") ? at + step : at;
}

function piecesOf(left: string, right: string): [Piece[], Piece[]] {
  const whole = (): [Piece[], Piece[]] => [[{ text: left, isSame: false }], [{ text: right, isSame: false }]];
  if (left === "" || right === "" || left.length + right.length > maxCharacters) return whole();
  const words = [left.match(tokens) ?? [], right.match(tokens) ?? []] as const;
  if (words[0].length + words[1].length > maxTokens) return whole();
  const known = new Map<string, number>();
  const numbers = words.map((list) =>
    list.map((token) => {
      const number = known.get(token) ?? known.size;
      known.set(token, number);
      return number;
    }),
  );
  const matched = finished(numbers[0] ?? [], numbers[1] ?? [], { left: maxSteps });
  const others = new Set(matched);
  const sides = [
    joined(words[0].map((text, at) => ({ text, isSame: matched[at] !== -1 }))),
    joined(words[1].map((text, at) => ({ text, isSame: others.has(at) }))),
  ] as [Piece[], Piece[]];
  return sides.some(({ length }) => length > maxPieces) ? whole() : sides;
}

function finished(first: readonly number[], second: readonly number[], budget: Budget): Int32Array {
  const run = matchInOrder(first, second, budget);
  for (let step = run.next(); ; step = run.next()) if (step.done) return step.value;
}

/** Neighbours of one kind as one piece, and a blank between two differences as a part of them. */
function joined(pieces: readonly Piece[]): Piece[] {
  const result: Piece[] = [];
  for (const piece of pieces) {
    const last = result.at(-1);
    if (piece.text === "") continue;
    if (last?.isSame === piece.isSame) last.text += piece.text;
    else result.push({ ...piece });
  }
  return result;
}
