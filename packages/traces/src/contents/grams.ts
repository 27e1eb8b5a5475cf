import { foldedPieces } from "./fold-text.js";

/** A gram has five letters, or two ideographs. With four, a fifth of all blocks seems to have a rare word of eight. */
const gramWeight = 10;
const [letterWeight, ideographWeight] = [2, 5];
const firstIdeograph = 0x2e80;
const longestGram = gramWeight / letterWeight;

/** Two bits for each gram. A filter of fewer bytes has these bits modulo its own. */
const mostBits = 2 ** 23;
/** With two bits in eight set, a gram that a block lacks seems there in one of 20. */
const bitsPerSet = 4;
const leastBytes = 8;
/** Of the bytes that traces and spans take on disk; with TOAST its filter takes less than a twentieth. */
const diskPart = 1 / 22;

const maxGrams = 32;

/** The bits of grams that every trace with all of the folded terms has; none where the terms are too short. */
export function bitsOfTerms(terms: readonly string[]): number[] {
  const own = terms.map(hashesOf).filter((hashes) => hashes.length > 0);
  const most = Math.floor(maxGrams / Math.max(1, own.length));
  const chosen = own.flatMap((hashes) => {
    const count = Math.min(hashes.length, Math.max(1, most));
    return Array.from({ length: count }, (_, n) => hashes[Math.floor((n * hashes.length) / count)] ?? 0);
  });
  return chosen.slice(0, maxGrams).flatMap((hash) => [firstBit(hash), secondBit(hash)]);
}

export function createFilter() {
  const bits = new Uint32Array(mostBits / 32);
  let set = 0;
  const add = (bit: number) => {
    const [index, mask] = [bit >>> 5, 1 << (bit & 31)];
    const word = bits[index] ?? 0;
    if ((word & mask) !== 0) return;
    bits[index] = word | mask;
    set++;
  };
  return {
    /** Yields between pieces of a millisecond each. */
    *add(text: string, isJson: boolean): Generator<void, void, void> {
      for (const piece of foldedPieces(text, isJson, longestGram - 1)) {
        eachGram(piece, (hash) => {
          add(firstBit(hash));
          add(secondBit(hash));
        });
        yield;
      }
    },
    /** @param diskBytes what the texts take on disk */
    bytes(diskBytes: number): Buffer {
      const wanted = Math.min((set * bitsPerSet) / 8, diskBytes * diskPart, mostBits / 8);
      const filter = Buffer.alloc(Math.max(leastBytes, Math.floor(wanted)));
      for (const [index, word] of bits.entries()) {
        for (let rest = word; rest !== 0; rest &= rest - 1) {
          const bit = (index * 32 + 31 - Math.clz32(rest & -rest)) % (8 * filter.length);
          filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
        }
      }
      return filter;
    },
  };
}

function hashesOf(folded: string): number[] {
  const hashes: number[] = [];
  eachGram(folded, (hash) => hashes.push(hash));
  return hashes;
}

const factor = 0x01000193;
const powers = Array.from({ length: longestGram }, (_, power) => {
  let product = 1;
  for (let n = 0; n < power; n++) product = Math.imul(product, factor);
  return product;
});

/** Visits the grams in order, by a rolling hash of each. */
function eachGram(folded: string, visit: (hash: number) => void): void {
  let [hash, weight, from] = [0, 0, 0];
  for (let to = 0; to < folded.length; to++) {
    const unit = folded.charCodeAt(to);
    hash = (Math.imul(hash, factor) + unit) | 0;
    weight += weightOf(unit);
    while (weight >= gramWeight) {
      visit(hash);
      const first = folded.charCodeAt(from);
      hash = (hash - Math.imul(first, powers[to - from] ?? 1)) | 0;
      weight -= weightOf(first);
      from++;
    }
  }
}

function weightOf(unit: number): number {
  return unit < firstIdeograph ? letterWeight : ideographWeight;
}

function firstBit(hash: number): number {
  return mix(hash, 0x7feb352d) % mostBits;
}

function secondBit(hash: number): number {
  return mix(hash, 0x2c1b3c6d) % mostBits;
}

function mix(hash: number, factor: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), factor);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
