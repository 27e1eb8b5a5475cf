import type { Plan } from "@waymark/plan";
import type pg from "pg";
import type { Logger } from "pino";

/** Pays for some thousand small requests, and is the most that an account's month counts ahead on this instance. */
const chunkBytes = 524_288;
/** Larger requests are counted by themselves: beside their storing the count costs little. */
const largestPaid = 16_384;
/** Closer to the month's limit each request is counted by itself, so that no instance keeps what another could store. */
const leastRemaining = 16 * chunkBytes;
/** Requests of late, halved each turn. Quieter accounts have no reserve. */
const busyRequests = 4;
const turnMs = 50;

/** Counts ahead where the month has place enough. Probes `trace_usage_pkey`. */
const fillStatement = {
  name: "fill-byte-reserve",
  text: `UPDATE trace_usage SET bytes = bytes + $3 WHERE account_id = $1 AND month = $2 AND bytes + $4 <= $5 RETURNING bytes`,
} as const;

const giveBackStatement = {
  name: "give-byte-reserve-back",
  text: "UPDATE trace_usage SET bytes = bytes - $3 WHERE account_id = $1 AND month = $2",
} as const;

interface Payer {
  accountId: string;
  /** First day of the UTC month, `YYYY-MM-DD`. */
  month: string;
  plan: Plan;
}

interface Stored {
  outcome: string;
  usedBytes?: number;
}

/** Stores a request and counts the given bytes: all of them, or 0 where the reserve has paid. */
type Store<Result extends Stored> = (countedBytes: number) => Promise<Result>;

/** An account's month on this instance. */
interface Reserve {
  readonly accountId: string;
  readonly month: string;
  /** Counted in Postgres, and not yet stored. */
  left: number;
  /** The month's bytes when this instance last counted. */
  used: number;
  /** As {@link busyRequests} counts them. */
  requests: number;
  /** Whether a request has come since the last turn. */
  isUsed: boolean;
  inFlight: number;
  isFilling: boolean;
  /** Given back, and perhaps not yet committed. */
  returning: number;
  returned: Promise<unknown>;
}

/**
 * Keeps reserves of busy accounts' months, so that their small requests need not lock and count a row each. Postgres counts a
 * reserve before anything is stored by it, so the limit stays exact, and a month shows at most 512 KiB too much per instance.
 * A tenth of a second after the last request the rest is given back; a killed instance leaves it counted. Memory grows with the
 * accounts of a tenth of a second.
 */
export class ByteReserve {
  private readonly reserves = new Map<string, Reserve>();
  private clock: NodeJS.Timeout | undefined;

  constructor(
    private readonly pool: pg.Pool,
    private readonly log: Logger,
  ) {}

  /**
   * Stores a request.
   * @param bytes what it counts in its account's month
   * @returns the result of `store`, with the month's bytes as this instance last counted them, without what it counts ahead
   */
  store<Result extends Stored>(payer: Payer, bytes: number, store: Store<Result>): Promise<Result> {
    if (bytes > largestPaid) return this.count(this.reserves.get(payer.accountId), bytes, store);
    const reserve = this.reserveOf(payer);
    reserve.isUsed = true;
    if (++reserve.requests > busyRequests && reserve.left < chunkBytes / 2) void this.fill(reserve, payer.plan);
    return reserve.left >= bytes ? pay(reserve, bytes, store) : this.count(reserve, bytes, store);
  }

  /** What this instance counts ahead in an account's month. */
  ahead(accountId: string): number {
    const reserve = this.reserves.get(accountId);
    return reserve ? reserve.left + reserve.returning : 0;
  }

  /** Gives an account's reserve back, so that its month shows what is stored. */
  async settle(accountId: string): Promise<void> {
    const reserve = this.reserves.get(accountId);
    if (reserve) await this.giveBack(reserve);
  }

  /** Gives all reserves back. */
  async stop(): Promise<void> {
    clearInterval(this.clock);
    for (const reserve of this.reserves.values()) await this.giveBack(reserve);
  }

  private reserveOf({ accountId, month }: Payer): Reserve {
    const known = this.reserves.get(accountId);
    if (known?.month === month) return known;
    if (known) void this.giveBack(known);
    const counts = { left: 0, used: 0, requests: 0, inFlight: 0, returning: 0, returned: Promise.resolve() };
    const reserve: Reserve = { accountId, month, ...counts, isUsed: true, isFilling: false };
    this.reserves.set(accountId, reserve);
    this.clock ??= setInterval(() => void this.turn(), turnMs).unref();
    return reserve;
  }

  private async count<Result extends Stored>(
    reserve: Reserve | undefined,
    bytes: number,
    store: Store<Result>,
  ): Promise<Result> {
    // Otherwise nobody knows whether the count that Postgres answers still has what is given back.
    if (reserve && reserve.returning > 0) await reserve.returned;
    let result = await store(bytes);
    if (result.outcome === "byte_limit" && reserve && (await this.giveBack(reserve))) result = await store(bytes);
    if (!reserve || result.usedBytes === undefined) return result;
    // Beside fillings, answers of Postgres may come in another order than they were made.
    reserve.used = reserve.left > 0 ? Math.max(reserve.used, result.usedBytes) : result.usedBytes;
    result.usedBytes = reserve.used - reserve.left;
    return result;
  }

  private async fill(reserve: Reserve, plan: Plan): Promise<void> {
    if (reserve.isFilling) return;
    reserve.isFilling = true;
    const { accountId, month } = reserve;
    try {
      const values = [accountId, month, chunkBytes - reserve.left, leastRemaining, plan.bytesPerMonth];
      const { rows } = await this.pool.query<{ bytes: number }>({ ...fillStatement, values });
      if (!rows[0]) return;
      reserve.left += values[2] as number;
      reserve.used = Math.max(reserve.used, rows[0].bytes);
    } catch (error) {
      // Perhaps it was committed. To count too much is the safe mistake.
      this.log.warn({ err: error }, "a reserve of stored bytes could not be filled");
    } finally {
      reserve.isFilling = false;
    }
  }

  private async turn(): Promise<void> {
    for (const reserve of [...this.reserves.values()]) {
      const wasQuiet = isQuiet(reserve);
      reserve.isUsed = false;
      reserve.requests /= 2;
      if (!wasQuiet) continue;
      await this.giveBack(reserve);
      const isKept = reserve.left > 0 || !isQuiet(reserve) || this.reserves.get(reserve.accountId) !== reserve;
      if (!isKept) this.reserves.delete(reserve.accountId);
    }
    if (this.reserves.size > 0) return;
    clearInterval(this.clock);
    this.clock = undefined;
  }

  /** @returns whether there was anything, when all of it is given back */
  private async giveBack(reserve: Reserve): Promise<boolean> {
    const { left } = reserve;
    // Nobody spends it meanwhile.
    reserve.left = 0;
    reserve.used -= left;
    reserve.returning += left;
    const { returning } = reserve;
    if (left > 0) reserve.returned = Promise.all([reserve.returned, this.subtract(reserve, left)]);
    await reserve.returned;
    return returning > 0;
  }

  private async subtract(reserve: Reserve, bytes: number): Promise<void> {
    try {
      await this.pool.query({ ...giveBackStatement, values: [reserve.accountId, reserve.month, bytes] });
    } catch (error) {
      this.log.warn({ err: error }, "a reserve of stored bytes could not be given back");
    }
    reserve.returning -= bytes;
  }
}

function isQuiet(reserve: Reserve): boolean {
  return !reserve.isUsed && reserve.inFlight === 0 && !reserve.isFilling;
}

/** Stores a request by the reserve. An error does not say whether it was stored, so it stays paid. */
function pay<Result extends Stored>(reserve: Reserve, bytes: number, store: Store<Result>): Promise<Result> {
  reserve.left -= bytes;
  reserve.inFlight++;
  return store(0).then(
    (result) => {
      reserve.inFlight--;
      if (result.outcome === "stored") result.usedBytes = reserve.used - reserve.left;
      else reserve.left += bytes;
      return result;
    },
    (error) => {
      reserve.inFlight--;
      throw error;
    },
  );
}
