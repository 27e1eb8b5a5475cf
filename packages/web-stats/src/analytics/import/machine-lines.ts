import { otherValue } from "../../lists/lists.js";
import type { Claim, OpenClaim } from "../attribution/machine-claims.js";
import type { NamedMachine } from "../attribution/machines.js";
import type { MachineRequest } from "../recording/machines.query.js";
import type { ImportLine } from "./import-line.schema.js";
import { type LineId, lineId } from "./line-id.js";
import type { OccurrenceCounter } from "./occurrences.js";

/** Requests of machines in a batch; each line names its request by the place in the list. */
export interface EncodedMachines {
  readonly requests: readonly MachineRequest[];
  readonly ids: readonly string[];
  readonly places: Uint32Array;
}

export interface MachineLine {
  readonly line: ImportLine;
  readonly named: NamedMachine;
  readonly status: number;
  readonly claim: Claim | OpenClaim;
}

interface SeenRequest {
  readonly place: number;
  readonly request: Omit<MachineRequest, "claim">;
  readonly claim: Claim | OpenClaim;
}

/** Collects the lines of machines. Equal requests are one object; a line's id keeps it from counting twice. */
export class MachineLines {
  private readonly requests = new Map<string, SeenRequest>();
  private readonly lines: { ids: LineId; occurrence: number; place: number }[] = [];

  constructor(private readonly occurrences: OccurrenceCounter) {}

  get length(): number {
    return this.lines.length;
  }

  add({ line, named, status, claim }: MachineLine): void {
    // A request other than a page view has the id of no event.
    const ids = lineId({ ...line, name: `${line.name ?? ""} ${status}` });
    const day = line.at.slice(0, 10);
    const path = line.path ?? otherValue;
    const claimed = typeof claim === "string" ? claim : claim.ip;
    const key = [day, named.name, status, claimed, path].join("\0");
    let found = this.requests.get(key);
    if (!found) {
      const { name: machine, purpose } = named;
      found = { place: this.requests.size, request: { day, machine, purpose, path, status }, claim };
      this.requests.set(key, found);
    }
    this.lines.push({ ids, occurrence: this.occurrences.count(ids.first), place: found.place });
  }

  /** The claims that `finish` has to be told of. */
  get openClaims(): OpenClaim[] {
    return [...this.requests.values()].flatMap(({ claim }) => (typeof claim === "string" ? [] : [claim]));
  }

  async finish(settle: (claim: OpenClaim) => Claim): Promise<EncodedMachines> {
    const unsure = this.lines.filter(({ ids }) => this.occurrences.mayBeEarlier(ids.first));
    const earlier = await this.occurrences.readEarlier(unsure.map(({ ids }) => ids.first));
    return {
      requests: Array.from(this.requests.values(), ({ request, claim }) => ({
        ...request,
        claim: typeof claim === "string" ? claim : settle(claim),
      })),
      ids: this.lines.map(({ ids, occurrence }) => ids.nth((earlier.get(ids.first) ?? 0) + occurrence)),
      places: Uint32Array.from(this.lines, ({ place }) => place),
    };
  }
}
