import type pg from "pg";

interface TestDay {
  /** Days before the present one. */
  ago?: number;
  agent?: string;
  provider?: string;
  model?: string;
  calls?: number;
  input?: number;
  output?: number;
  /** Dollars; null for a model without a price. */
  cost?: string | null;
}

/** Inserts a day's sums of a model, as settled calls leave them. */
export async function insertModelDay(pool: pg.Pool, accountId: string, day: TestDay = {}): Promise<void> {
  const { ago = 0, agent = "writer", provider = "openai", model = "gpt-4o", calls = 1 } = day;
  const { input = 1_000, output = 100, cost = "0.0035" } = day;
  await pool.query(
    `INSERT INTO model_day (account_id, day, agent_id, provider, model, calls, priced_calls, input_tokens, output_tokens,
       cached_input_tokens, cache_write_tokens, reasoning_tokens, cost)
     VALUES ($1, (now() AT TIME ZONE 'UTC')::date - $2::int, $3, $4, $5, $6, $7, $8, $9, 0, 0, 0, $10)`,
    [accountId, ago, agent, provider, model, calls, cost === null ? 0 : calls, input, output, cost ?? "0"],
  );
}
