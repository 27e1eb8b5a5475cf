import { hash } from "node:crypto";

export interface TableSum {
  table: string;
  rows: number;
  /** Of all rows in any order, since a restored table may give them in another one. */
  digest: string;
}

const newline = 10;

/** Counts rows of `COPY`, a line each, and adds up the first half of each one's SHA-256. */
export class RowSum {
  private rows = 0;
  private high = 0n;
  private low = 0n;
  private rest: Buffer[] = [];

  /** @returns how many rows end in the text, which may begin and end within a row */
  add(text: Buffer): number {
    const before = this.rows;
    let start = 0;
    for (let end = text.indexOf(newline); end >= 0; end = text.indexOf(newline, start)) {
      this.addRow(text.subarray(start, end));
      start = end + 1;
    }
    if (start < text.length) this.rest.push(text.subarray(start));
    return this.rows - before;
  }

  of(table: string): TableSum {
    const digest = [this.high, this.low].map((half) => BigInt.asUintN(64, half).toString(16).padStart(16, "0"));
    return { table, rows: this.rows, digest: digest.join("") };
  }

  private addRow(end: Buffer): void {
    const row = this.rest.length > 0 ? Buffer.concat([...this.rest, end]) : end;
    this.rest = [];
    const digest = hash("sha256", row, "buffer");
    this.high = BigInt.asUintN(64, this.high + digest.readBigUInt64BE(0));
    this.low = BigInt.asUintN(64, this.low + digest.readBigUInt64BE(8));
    this.rows += 1;
  }
}
