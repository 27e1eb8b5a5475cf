import { AppError } from "@waymark/errors";
import type { Refusals } from "@waymark/http";

/** Concurrent statements of an account: two, so a slow one does not delay a quick one. */
const maxReadingPerAccount = 2;
const maxWaitingPerAccount = 8;
/** Over all accounts. */
const maxWaiting = 200;
/** A read takes milliseconds. After this long, the statements before it run into their timeout. */
const maxWaitMs = 3_000;

/** Shares the connections for figures, so one account's slow reads leave connections to all others. */
export interface ReadShares {
  /**
   * Runs a read when it is the account's turn.
   * @param isLeft whether the client has gone; the read is then skipped
   * @throws AppError 429 when the account has too many reads, 503 when all accounts together have; the read's own errors
   */
  read<Result>(accountId: string, work: () => Promise<Result>, isLeft?: () => boolean): Promise<Result>;
}

interface ReadSharesOptions {
  refusals: Refusals;
  /** Concurrent reads over all accounts. */
  maxReading: number;
}

interface Account {
  reading: number;
  readonly waiting: Waiting[];
}

interface Waiting {
  start(): void;
}

function createBusyErrors({ refusals, maxReading }: ReadSharesOptions) {
  const eachWaits = `each for at most ${maxWaitMs / 1_000} s`;
  const ofAccount = `${maxReadingPerAccount} reads under way and ${maxWaitingPerAccount} waiting`;
  const ofAll = `${maxReading} reads are under way and ${maxWaiting} waiting`;
  return {
    accountBusy: () => refusals.account("account_reads", `An account has at most ${ofAccount}, ${eachWaits}`),
    allBusy: () => refusals.service("reads", `At most ${ofAll}, ${eachWaits}`),
  };
}

/** Resolves at the account's turn. After too long a wait it leaves the queue and throws the error of `giveUp`. */
function waitForTurn({ waiting }: Account, giveUp: () => Error): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(turn), 1);
      reject(giveUp());
    }, maxWaitMs);
    const turn = {
      start() {
        clearTimeout(timer);
        resolve();
      },
    };
    waiting.push(turn);
  });
}

/** Creates the shares of one pool. */
export function createReadShares({ refusals, maxReading }: ReadSharesOptions): ReadShares {
  // In the order of turns. An account without reads is not kept.
  const accounts = new Map<string, Account>();
  let reading = 0;
  let waiting = 0;
  const { accountBusy, allBusy } = createBusyErrors({ refusals, maxReading });

  function begin(id: string, account: Account): void {
    reading++;
    account.reading++;
    accounts.delete(id);
    accounts.set(id, account);
  }

  /** Accounts without a running read go first; among equals, the account whose last turn is the longest ago. */
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

  function giveUp(id: string, account: Account): Error {
    waiting--;
    forgetIdle(id, account);
    return account.reading >= maxReadingPerAccount ? accountBusy() : allBusy();
  }

  return {
    async read(id, work, isLeft = () => false) {
      const account = accounts.get(id) ?? { reading: 0, waiting: [] };
      if (reading < maxReading && account.reading < maxReadingPerAccount) begin(id, account);
      else {
        if (account.waiting.length >= maxWaitingPerAccount) throw accountBusy();
        if (waiting >= maxWaiting) throw allBusy();
        accounts.set(id, account);
        waiting++;
        await waitForTurn(account, () => giveUp(id, account));
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
