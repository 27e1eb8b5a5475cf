import type pg from "pg";
import type { Logger } from "pino";
import type { CountedRequest } from "./stored-bytes.js";

/** A reserve covers some hundred requests, so that these need no lock of the month. */
const chunkBytes = 4 * 1_048_576;
/** Closer to the month's limit each request is counted by itself, so that no instance keeps what another could store. */
const leastRemaining = 16 * chunkBytes;
/** Quieter accounts have no reserve: their months show each request at once. */
const busyRequests = 20;
const turnMs = 1_000;

/** Gives back what is left of reserves. An account's month that is locked keeps them until the next turn. */
const giveBackSql = `
  WITH left_over AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::date[], $3::bigint[]) AS l (account_id, month, bytes)
  ), locked AS MATERIALIZED (
    SELECT u.account_id, u.month FROM trace_usage u JOIN left_over l ON l.account_id = u.account_id AND l.month = u.month
    ORDER BY u.account_id FOR NO KEY UPDATE OF u SKIP LOCKED
  )
  UPDATE trace_usage u SET bytes = u.bytes - l.bytes FROM left_over l JOIN locked USING (account_id, month)
  WHERE u.account_id = l.account_id AND u.month = l.month RETURNING u.account_id AS "accountId", u.month::text AS month`;

/** A request that an account's month counts. */
interface ReservingRequest extends CountedRequest {
  accountId: string;
}

interface StoreResult {
  outcome: string;
  usedBytes?: number;
  /** Of a stored request, those of its bytes that were there already. */
  spareBytes?: number;
}

/** An account's month on this instance. */
interface Reserve {
  accountId: string;
  month: string;
  /** Counted in Postgres, and not yet stored. */
  left: number;
  /** The month's bytes by its last counted request; undefined before one. */
  used: number | undefined;
  /** Since the last turn. */
  requests: number;
  inFlight: number;
  isFilling: boolean;
}

type Store<Request, Result> = (request: Request) => Promise<Result>;

export interface ByteReserve {
  /**
   * Stores a request, paid by the account's reserve where that suffices. Otherwise Postgres counts it, for a busy account with a
   * new reserve.
   */
  store<Request extends ReservingRequest, Result extends StoreResult>(
    request: Request,
    store: Store<Request, Result>,
  ): Promise<Result>;
  /** Bytes that the month counts and this instance has not stored yet. */
  leftOf(accountId: string, month: string): number;
  /** Gives all reserves back. */
  stop(): Promise<void>;
}

/**
 * Keeps reserves of busy accounts' months, so that hot statements need not lock and count a month each. Postgres counts a
 * reserve before anything is stored by it: the limit stays exact. Within two seconds after the last request it is given
 * back; a killed instance leaves at most 4 MiB of an account counted too much. Memory grows with accounts of two seconds.
 */
export function createByteReserve(deps: { pool: pg.Pool; log: Logger }): ByteReserve {
  return new AccountReserves(deps.pool, deps.log);
}

class AccountReserves implements ByteReserve {
  private readonly reserves = new Map<string, Reserve>();
  private clock: NodeJS.Timeout | undefined;

  constructor(
    private readonly pool: pg.Pool,
    private readonly log: Logger,
  ) {}

  async store<Request extends ReservingRequest, Result extends StoreResult>(
    request: Request,
    store: Store<Request, Result>,
  ): Promise<Result> {
    const reserve = this.reserveOf(request);
    reserve.requests++;
    reserve.inFlight++;
    try {
      return await (reserve.left >= request.bytes ? pay(reserve, request, store) : this.count(reserve, request, store));
    } finally {
      reserve.inFlight--;
    }
  }

  leftOf(accountId: string, month: string): number {
    return this.reserves.get(keyOf({ accountId, month }))?.left ?? 0;
  }

  async stop(): Promise<void> {
    clearInterval(this.clock);
    await this.giveBack([...this.reserves.values()]);
  }

  private reserveOf({ accountId, month }: Pick<Reserve, "accountId" | "month">): Reserve {
    const key = keyOf({ accountId, month });
    const known = this.reserves.get(key);
    if (known) return known;
    const reserve = { accountId, month, left: 0, used: undefined, requests: 0, inFlight: 0, isFilling: false };
    this.reserves.set(key, reserve);
    this.clock ??= setInterval(() => void this.turn(), turnMs).unref();
    return reserve;
  }

  /** Has Postgres count a request, for a busy account with a new reserve. */
  private async count<Request extends ReservingRequest, Result extends StoreResult>(
    reserve: Reserve,
    request: Request,
    store: Store<Request, Result>,
  ): Promise<Result> {
    const remaining = request.plan.bytesPerMonth - (reserve.used ?? request.plan.bytesPerMonth);
    if (reserve.requests > busyRequests && remaining > leastRemaining && !reserve.isFilling) {
      reserve.isFilling = true;
      const filled = await store({ ...request, bytesToReserve: chunkBytes }).finally(() => {
        reserve.isFilling = false;
      });
      if (filled.outcome === "stored") reserve.left += chunkBytes;
      if (filled.outcome !== "byte_limit") return noteUsed(filled, reserve);
    }
    const result = await store(request);
    if (result.outcome !== "byte_limit" || reserve.left === 0) return noteUsed(result, reserve);
    await this.giveBack([reserve]);
    return noteUsed(await store(request), reserve);
  }

  private async turn(): Promise<void> {
    const { reserves } = this;
    const quiet = [...reserves.values()].filter(({ requests, inFlight }) => requests === 0 && inFlight === 0);
    for (const reserve of reserves.values()) reserve.requests = 0;
    await this.giveBack(quiet);
    for (const reserve of quiet) if (reserve.left === 0 && reserve.requests === 0) reserves.delete(keyOf(reserve));
    if (reserves.size > 0) return;
    clearInterval(this.clock);
    this.clock = undefined;
  }

  private async giveBack(some: readonly Reserve[]): Promise<void> {
    const given = some.filter(({ left }) => left > 0).map((reserve) => ({ reserve, left: reserve.left }));
    if (given.length === 0) return;
    // Nobody spends it meanwhile.
    for (const { reserve } of given) reserve.left = 0;
    const values = [
      given.map(({ reserve }) => reserve.accountId),
      given.map(({ reserve }) => reserve.month),
      given.map(({ left }) => left),
    ];
    try {
      const { rows } = await this.pool.query<Pick<Reserve, "accountId" | "month">>(giveBackSql, values);
      const gone = new Set(rows.map(keyOf));
      for (const { reserve, left } of given) {
        if (!gone.has(keyOf(reserve))) reserve.left += left;
        else if (reserve.used !== undefined) reserve.used -= left;
      }
    } catch (error) {
      // Perhaps it was committed. To count too much is the safe mistake.
      this.log.warn({ err: error }, "reserves of stored bytes could not be given back");
    }
  }
}

const keyOf = ({ accountId, month }: Pick<Reserve, "accountId" | "month">) => `${accountId} ${month}`;

/** Stores a request by the reserve. */
async function pay<Request extends ReservingRequest, Result extends StoreResult>(
  reserve: Reserve,
  request: Request,
  store: Store<Request, Result>,
): Promise<Result> {
  reserve.left -= request.bytes;
  const result = await store({ ...request, isPaid: true });
  const isStored = result.outcome === "stored";
  reserve.left += isStored ? (result.spareBytes ?? 0) : request.bytes;
  return isStored ? { ...result, usedBytes: (reserve.used ?? 0) - reserve.left } : result;
}

/** Notes the month's bytes of a counted request, and leaves the reserve out of its answer. */
function noteUsed<Result extends StoreResult>(result: Result, reserve: Reserve): Result {
  if (result.usedBytes === undefined) return result;
  reserve.used = result.usedBytes;
  return { ...result, usedBytes: result.usedBytes - reserve.left };
}
