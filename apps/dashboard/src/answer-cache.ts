import { LRUCache } from "lru-cache";

const keptMs = 30_000;
const maxEntries = 500;

/** Keeps answers by their arguments for 30 seconds, and lets requests for the same one share a flight. */
export function createAnswerCache<Args extends readonly (string | null)[], Answer>(
  now: () => Date,
  read: (...args: Args) => Promise<Answer>,
) {
  const entries = new LRUCache<string, { at: number; answer: Promise<Answer> }>({ max: maxEntries });
  return (...args: Args): Promise<Answer> => {
    const [key, at] = [JSON.stringify(args), now().getTime()];
    const known = entries.get(key);
    if (known && at - known.at < keptMs && at >= known.at) return known.answer;
    const answer = read(...args);
    entries.set(key, { at, answer });
    answer.catch(() => {
      if (entries.get(key)?.answer === answer) entries.delete(key);
    });
    return answer;
  };
}
