import type { createTurns } from "@waymark/service/http";

const sliceMs = 8;

/** Work that holds the event loop for 8 ms at most before others have it; owners take turns. */
export class Slice {
  private until = 0;

  constructor(
    private readonly turn: ReturnType<typeof createTurns>,
    private readonly now = () => performance.now(),
  ) {}

  isUsedUp(): boolean {
    return this.now() >= this.until;
  }

  /** Resolves when the owner may go on. */
  async next(owner: string): Promise<void> {
    await this.turn(owner);
    this.until = this.now() + sliceMs;
  }
}
