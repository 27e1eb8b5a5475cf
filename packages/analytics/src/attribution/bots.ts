import { isbot } from "isbot";

/** User agents whose verdict is remembered. */
const maxRememberedAgents = 10_000;

/** Makes the function that says whether a `User-Agent` is a bot's; none at all is nobody's. */
export function createBotCheck() {
  const verdicts = new Map<string, boolean>();
  return (userAgent: string | null): boolean => {
    if (userAgent === null) return false;
    const known = verdicts.get(userAgent);
    if (known !== undefined) return known;
    if (verdicts.size >= maxRememberedAgents) verdicts.clear();
    const verdict = isbot(userAgent);
    verdicts.set(userAgent, verdict);
    return verdict;
  };
}
