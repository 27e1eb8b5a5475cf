import { evaluateRules } from "@waymark/alerts";
import type pg from "pg";
import type { Logger } from "pino";

interface EvaluateRulesDeps {
  pool: pg.Pool;
  log: Logger;
  isStopping(): boolean;
}

/** Tells accounts when an agent's failure rate crosses a rule, and when it is back. Several workers may do so at once. */
export function createEvaluateRules({ pool, log, isStopping }: EvaluateRulesDeps): () => Promise<{ changed: number }> {
  return async () => {
    const changed = await evaluateRules(pool, { isStopping });
    if (changed > 0) log.info({ changed }, "rules crossed or back");
    return { changed };
  };
}
