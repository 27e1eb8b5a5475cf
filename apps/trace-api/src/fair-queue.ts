/** A row that waits for a statement, and how its request is told the result. */
export interface Waiting<Item, Result> {
  readonly row: Item;
  /** As how many rows it counts. */
  readonly count: number;
  readonly bytes: number;
  readonly kind: string | undefined;
  readonly target: string | undefined;
  readonly account: Account<Item, Result>;
  isTaken: boolean;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** The rows of one account that wait, in the order they came. */
export interface Account<Item, Result> {
  readonly id: string;
  entries: Waiting<Item, Result>[];
  count: number;
  bytes: number;
  /** Rows in statements that are out. */
  inFlight: number;
  /** Statements' worth that it was given; see {@link FairQueue}. */
  served: number;
  /** While a statement is filled: where to look on, and whether an entry was passed over or taken. */
  next: number;
  hasSkipped: boolean;
  hasTaken: boolean;
}

/** A statement that is being filled. */
interface Statement<Item, Result> {
  readonly taken: Waiting<Item, Result>[];
  readonly targets: Set<string>;
  count: number;
  bytes: number;
  /** Small rows that joined beyond the limits. */
  extra: number;
}

/** A small row has at most this part of a statement's rows, and so many bytes. */
const small = { part: 1 / 64, bytes: 16_384 } as const;
/** Small rows that may join a statement beyond its limits, as a part of its rows. */
const extraPart = 1 / 4;

export interface StatementLimits {
  maxRows: number;
  maxBytes: number;
  maxInFlightPerAccount: number;
}

/**
 * Rows that wait, by account. A statement is filled in turns, one row from each account, beginning with the accounts that
 * were given the least so far; an account that comes back begins where the least served stands now. So a row of an account
 * that sends little waits for the statement in flight and goes with the next one, whatever others have waiting (start-time
 * fair queueing: Goyal, Vin and Cheng, 1997): the first row of each account joins, where it is small, also a statement that
 * a large row of another account fills. Within an account rows go in the order they came.
 */
export class FairQueue<Item, Result> {
  /** Rows, what they count as, and their bytes. */
  rows = 0;
  count = 0;
  bytes = 0;
  private readonly accounts = new Map<string, Account<Item, Result>>();
  /** The share of the least served account with rows. */
  private served = 0;

  constructor(private readonly limits: StatementLimits) {}

  /** The account's part of the queue, made where it has none. */
  accountOf(id: string): Account<Item, Result> {
    const known = this.accounts.get(id);
    if (known) return known;
    if (this.rows === 0) this.forgetServed();
    const { served } = this;
    const position = { served, next: 0, hasSkipped: false, hasTaken: false };
    const account = { id, entries: [], count: 0, bytes: 0, inFlight: 0, ...position };
    this.accounts.set(id, account);
    return account;
  }

  add(entry: Waiting<Item, Result>): void {
    const { account } = entry;
    if (account.entries.length === 0) account.served = Math.max(account.served, this.served);
    account.entries.push(entry);
    account.count += entry.count;
    account.bytes += entry.bytes;
    this.rows++;
    this.count += entry.count;
    this.bytes += entry.bytes;
  }

  /**
   * Takes the rows of the next statement: all of one kind, and none whose target another of them or `blocked` has.
   * @returns none where all that waits is blocked, or of accounts that have enough in flight
   */
  take(blocked: ReadonlySet<string>): Waiting<Item, Result>[] {
    const turn = this.startTurn();
    const statement: Statement<Item, Result> = { taken: [], targets: new Set(blocked), count: 0, bytes: 0, extra: 0 };
    for (let live = turn.length; live > 0; ) {
      let kept = 0;
      for (let i = 0; i < live; i++) {
        const account = turn[i] as Account<Item, Result>;
        if (this.takeFrom(account, statement)) turn[kept++] = account;
      }
      live = kept;
    }
    for (const { account } of statement.taken) removeTaken(account);
    this.rows -= statement.taken.length;
    this.count -= statement.count;
    this.bytes -= statement.bytes;
    return statement.taken;
  }

  /** Accounts whose rows may go out, the least served first. */
  private startTurn(): Account<Item, Result>[] {
    const turn: Account<Item, Result>[] = [];
    for (const account of this.accounts.values()) {
      account.next = 0;
      account.hasSkipped = false;
      account.hasTaken = false;
      if (account.entries.length > 0) {
        if (account.inFlight < this.limits.maxInFlightPerAccount) turn.push(account);
      } else if (account.inFlight === 0 && account.served <= this.served) this.accounts.delete(account.id);
    }
    if (turn.length > 1) turn.sort((a, b) => a.served - b.served);
    this.served = Math.max(this.served, turn[0]?.served ?? 0);
    return turn;
  }

  private takeFrom(account: Account<Item, Result>, statement: Statement<Item, Result>): boolean {
    const { maxRows, maxBytes, maxInFlightPerAccount } = this.limits;
    const { taken, targets } = statement;
    const entry = nextOf(account, taken[0], targets);
    if (!entry || account.inFlight >= maxInFlightPerAccount) return false;
    const isOver = statement.count + entry.count > maxRows || statement.bytes + entry.bytes > maxBytes;
    if (isOver && taken.length > 0 && !this.joinsBeyond(account, entry, statement)) return false;
    if (entry.target !== undefined) targets.add(entry.target);
    taken.push(entry);
    entry.isTaken = true;
    account.next++;
    account.hasTaken = true;
    account.inFlight++;
    account.count -= entry.count;
    account.bytes -= entry.bytes;
    account.served += Math.max(entry.count / maxRows, entry.bytes / maxBytes);
    statement.count += entry.count;
    statement.bytes += entry.bytes;
    return true;
  }

  private joinsBeyond(
    account: Account<Item, Result>,
    entry: Waiting<Item, Result>,
    statement: Statement<Item, Result>,
  ): boolean {
    const { maxRows } = this.limits;
    if (account.hasTaken || entry.count > Math.max(1, maxRows * small.part) || entry.bytes > small.bytes) return false;
    if (statement.extra + entry.count > maxRows * extraPart) return false;
    statement.extra += entry.count;
    return true;
  }

  /** Where nothing waits, nobody is behind anybody. */
  private forgetServed(): void {
    this.served = 0;
    for (const account of this.accounts.values()) {
      if (account.inFlight === 0) this.accounts.delete(account.id);
      else account.served = 0;
    }
  }
}

/** The account's next row that may join the statement; those that may not are passed over and keep their order. */
function nextOf<Item, Result>(
  account: Account<Item, Result>,
  first: Waiting<Item, Result> | undefined,
  targets: ReadonlySet<string>,
): Waiting<Item, Result> | undefined {
  for (; account.next < account.entries.length; account.next++) {
    const entry = account.entries[account.next] as Waiting<Item, Result>;
    const isOfOtherKind = first !== undefined && entry.kind !== first.kind;
    if (!isOfOtherKind && (entry.target === undefined || !targets.has(entry.target))) return entry;
    account.hasSkipped = true;
  }
  return undefined;
}

function removeTaken<Item, Result>(account: Account<Item, Result>): void {
  if (account.next === 0) return;
  if (account.hasSkipped) account.entries = account.entries.filter(({ isTaken }) => !isTaken);
  else account.entries.splice(0, account.next);
  account.next = 0;
}
