import type { Load } from "./options.js";

export interface WaitingRow<Row, Result> {
  readonly row: Row;
  readonly count: number;
  readonly bytes: number;
  readonly kind: string | undefined;
  readonly target: string | undefined;
  readonly owner: Owner<Row, Result>;
  isTaken: boolean;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export interface Owner<Row, Result> extends Load {
  readonly id: string;
  entries: WaitingRow<Row, Result>[];
  inFlight: number;
  /** Work done for it so far, in full statements. */
  served: number;
  /** While a statement fills: the next index to look at, and whether an entry was skipped or taken. */
  next: number;
  hasSkipped: boolean;
  hasTaken: boolean;
}

interface Statement<Row, Result> {
  readonly taken: WaitingRow<Row, Result>[];
  readonly blocked: Blocked;
  readonly targets: Set<string>;
  count: number;
  bytes: number;
  extra: number;
}

/** A small row has at most this part of a statement's rows and these bytes. */
const small = { part: 1 / 64, bytes: 16_384 } as const;
/** Small rows may exceed a statement's limits by this part of its rows. */
const extraPart = 1 / 4;

interface StatementLimits {
  maxRows: number;
  maxBytes: number;
  maxInFlightPerOwner: number;
  sharesTargets: boolean;
}

interface Blocked {
  has(target: string): boolean;
}

/**
 * Waiting rows by owner. A statement fills in turns, one row from each owner, the least served first; an owner that returns
 * starts level with the least served (start-time fair queueing: Goyal, Vin and Cheng, 1997). The first small row of each
 * owner joins even a statement that a large row of another fills. Rows of one owner keep their order.
 */
export class FairQueue<Row, Result> implements Load {
  rows = 0;
  count = 0;
  bytes = 0;
  private readonly owners = new Map<string, Owner<Row, Result>>();
  private served = 0;

  constructor(private readonly limits: StatementLimits) {}

  ownerOf(id: string): Owner<Row, Result> {
    const known = this.owners.get(id);
    if (known) return known;
    if (this.rows === 0) this.forgetServed();
    const { served } = this;
    const position = { served, next: 0, hasSkipped: false, hasTaken: false };
    const owner = { id, entries: [], rows: 0, count: 0, bytes: 0, inFlight: 0, ...position };
    this.owners.set(id, owner);
    return owner;
  }

  add(entry: WaitingRow<Row, Result>): void {
    const { owner } = entry;
    if (owner.entries.length === 0) owner.served = Math.max(owner.served, this.served);
    owner.entries.push(entry);
    addLoad(owner, entry);
    addLoad(this, entry);
  }

  giveBack(entries: readonly WaitingRow<Row, Result>[]): void {
    const owner = entries[0]?.owner;
    if (!owner) return;
    const others = owner.entries;
    owner.entries = [];
    for (const entry of entries) {
      entry.isTaken = false;
      this.add(entry);
    }
    owner.entries.push(...others);
  }

  remove(isOut: (entry: WaitingRow<Row, Result>) => boolean): void {
    for (const owner of this.owners.values()) {
      owner.entries = owner.entries.filter((entry) => {
        if (!isOut(entry)) return true;
        removeLoad(owner, entry);
        removeLoad(this, entry);
        return false;
      });
    }
  }

  /** The next statement's rows: of one kind, with distinct targets, not blocked, of owners with room in flight. */
  take(blocked: Blocked): WaitingRow<Row, Result>[] {
    const turn = this.startTurn();
    const statement: Statement<Row, Result> = { taken: [], blocked, targets: new Set(), count: 0, bytes: 0, extra: 0 };
    for (let live = turn.length; live > 0; ) {
      let kept = 0;
      for (let i = 0; i < live; i++) {
        const owner = turn[i] as Owner<Row, Result>;
        if (this.takeFrom(owner, statement)) turn[kept++] = owner;
      }
      live = kept;
    }
    for (const { owner } of statement.taken) removeTaken(owner);
    return statement.taken;
  }

  private startTurn(): Owner<Row, Result>[] {
    const turn: Owner<Row, Result>[] = [];
    for (const owner of this.owners.values()) {
      owner.next = 0;
      owner.hasSkipped = false;
      owner.hasTaken = false;
      if (owner.entries.length > 0) {
        if (owner.inFlight < this.limits.maxInFlightPerOwner) turn.push(owner);
      } else if (owner.inFlight === 0 && owner.served <= this.served) this.owners.delete(owner.id);
    }
    if (turn.length > 1) turn.sort((a, b) => a.served - b.served);
    this.served = Math.max(this.served, turn[0]?.served ?? 0);
    return turn;
  }

  private takeFrom(owner: Owner<Row, Result>, statement: Statement<Row, Result>): boolean {
    const { maxRows, maxBytes, maxInFlightPerOwner, sharesTargets } = this.limits;
    const { taken, targets } = statement;
    const entry = nextOf(owner, statement);
    if (!entry || owner.inFlight >= maxInFlightPerOwner) return false;
    const isOver = statement.count + entry.count > maxRows || statement.bytes + entry.bytes > maxBytes;
    if (isOver && taken.length > 0 && !this.joinsBeyond(owner, entry, statement)) return false;
    if (entry.target !== undefined && !sharesTargets) targets.add(entry.target);
    taken.push(entry);
    entry.isTaken = true;
    owner.next++;
    owner.hasTaken = true;
    owner.inFlight++;
    removeLoad(owner, entry);
    removeLoad(this, entry);
    owner.served += Math.max(entry.count / maxRows, entry.bytes / maxBytes);
    statement.count += entry.count;
    statement.bytes += entry.bytes;
    return true;
  }

  private joinsBeyond(
    owner: Owner<Row, Result>,
    entry: WaitingRow<Row, Result>,
    statement: Statement<Row, Result>,
  ): boolean {
    const { maxRows } = this.limits;
    if (owner.hasTaken || entry.count > Math.max(1, maxRows * small.part) || entry.bytes > small.bytes) return false;
    if (statement.extra + entry.count > maxRows * extraPart) return false;
    statement.extra += entry.count;
    return true;
  }

  /** An empty queue starts anew: no owner is behind another. */
  private forgetServed(): void {
    this.served = 0;
    for (const owner of this.owners.values()) {
      if (owner.inFlight === 0) this.owners.delete(owner.id);
      else owner.served = 0;
    }
  }
}

function addLoad(load: Load, { count, bytes }: Pick<Load, "count" | "bytes">): void {
  load.rows++;
  load.count += count;
  load.bytes += bytes;
}

function removeLoad(load: Load, { count, bytes }: Pick<Load, "count" | "bytes">): void {
  load.rows--;
  load.count -= count;
  load.bytes -= bytes;
}

function nextOf<Row, Result>(
  owner: Owner<Row, Result>,
  { taken: [first], targets, blocked }: Statement<Row, Result>,
): WaitingRow<Row, Result> | undefined {
  for (; owner.next < owner.entries.length; owner.next++) {
    const entry = owner.entries[owner.next] as WaitingRow<Row, Result>;
    const isOfOtherKind = first !== undefined && entry.kind !== first.kind;
    const { target } = entry;
    const isBlocked = target !== undefined && (targets.has(target) || blocked.has(target));
    if (!isOfOtherKind && !isBlocked) return entry;
    owner.hasSkipped = true;
  }
  return undefined;
}

function removeTaken<Row, Result>(owner: Owner<Row, Result>): void {
  if (owner.next === 0) return;
  if (owner.hasSkipped) owner.entries = owner.entries.filter(({ isTaken }) => !isTaken);
  else owner.entries.splice(0, owner.next);
  owner.next = 0;
}
