import { AppError } from "@waymark/errors";
import type { Refusals } from "@waymark/http";

/** Statements of one account that read at once; two, so that a slow one does not hold up a quick one. */
const maxReadingPerAccount = 2;
/** Reads of one account that wait for their turn, and of all accounts together. */
const maxWaitingPerAccount = 8;
const maxWaiting = 200;
/** A read takes milliseconds: after this long, the statements before it are on the way to their timeout. */
const maxWaitMs = 3_000;

/** Shares out the connections that statistics are read over, so that one account's slow reads leave room for all others. */
export interface ReadShares {
  /**
   * Does a read when it is the account's turn.
   * @param isLeft tells that nobody waits for the answer any more: the read is then not done
   * @throws AppError 429 when the account has too many reads in hand, 503 when all together have, or what the read threw
   */
  read<Result>(accountId: string, work: () => Promise<Result>, isLeft?: () => boolean): Promise<Result>;
}

export interface ReadSharesOptions {
  refusals: Refusals;
  /** Reads at once, of all accounts. */
  maxReading: number;
}

interface Account {
  reading: number;
  readonly waiting: Waiting[];
}

/** A read whose turn has not come. */
interface Waiting {
  start(): void;
}

/** Makes the shares of one pool. */
export function createReadShares({ refusals, maxReading }: ReadSharesOptions): ReadShares {
  // In the order in which accounts are served; an account that has nothing in hand is not kept.
  const accounts = new Map<string, Account>();
  let reading = 0;
  let waiting = 0;

  const accountBusy = () =>
    refusals.account(
      "account_reads",
      `An account has at most ${maxReadingPerAccount} reads under way and ${maxWaitingPerAccount} waiting, each for at most ${maxWaitMs / 1_000} s`,
    );
  const allBusy = () =>
    refusals.service(
      "reads",
      `At most ${maxReading} reads are under way and ${maxWaiting} waiting, each for at most ${maxWaitMs / 1_000} s`,
    );

  function begin(id: string, account: Account): void {
    reading++;
    account.reading++;
    accounts.delete(id);
    accounts.set(id, account);
  }

  /** Accounts with nothing under way come first, and among equals the one that was served longest ago. */
  function startNext(): void {
    for (let level = 0; level < maxReadingPerAccount; level++) {
      for (const [id, account] of accounts) {
        if (reading >= maxReading) return;
        const next = account.reading === level ? account.waiting.shift() : undefined;
        if (!next) continue;
        waiting--;
        begin(id, account);
        next.start();
      }
    }
  }

  function end(id: string, account: Account): void {
    reading--;
    account.reading--;
    startNext();
    forgetIdle(id, account);
  }

  function forgetIdle(id: string, account: Account): void {
    if (account.reading === 0 && account.waiting.length === 0) accounts.delete(id);
  }

  function wait(id: string, account: Account): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        account.waiting.splice(account.waiting.indexOf(turn), 1);
        waiting--;
        forgetIdle(id, account);
        reject(account.reading >= maxReadingPerAccount ? accountBusy() : allBusy());
      }, maxWaitMs);
      const turn = {
        start() {
          clearTimeout(timer);
          resolve();
        },
      };
      account.waiting.push(turn);
      waiting++;
    });
  }

  return {
    async read(id, work, isLeft = () => false) {
      const account = accounts.get(id) ?? { reading: 0, waiting: [] };
      if (reading < maxReading && account.reading < maxReadingPerAccount) begin(id, account);
      else {
        if (account.waiting.length >= maxWaitingPerAccount) throw accountBusy();
        if (waiting >= maxWaiting) throw allBusy();
        accounts.set(id, account);
        await wait(id, account);
      }
      try {
        if (isLeft()) throw new AppError("busy");
        return await work();
      } finally {
        end(id, account);
      }
    },
  };
}
