import { LRUCache } from "lru-cache";

const keptMs = 30_000;
const maxEntries = 500;

/** Keeps answers for 30 seconds, and lets requests for the same one share a flight. */
export function createAnswerCache<T extends object>(now: () => Date) {
  const entries = new LRUCache<string, { at: number; answer: Promise<T> }>({ max: maxEntries });
  return (key: string, read: () => Promise<T>): Promise<T> => {
    const at = now().getTime();
    const known = entries.get(key);
    if (known && at - known.at < keptMs && at >= known.at) return known.answer;
    const answer = read();
    entries.set(key, { at, answer });
    answer.catch(() => {
      if (entries.get(key)?.answer === answer) entries.delete(key);
    });
    return answer;
  };
}
