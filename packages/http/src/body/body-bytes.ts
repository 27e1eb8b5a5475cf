import type { Duplex } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { AppError, validationError } from "@waymark/errors";
import type { Request, Response } from "express";
import type { Shares } from "../limits/shares.js";
import type { Turn } from "../limits/turns.js";

/** The cost of a piece of a body beside its bytes; most of the cost of a body that comes byte by byte. */
const bytesPerPiece = 256;

/** How bodies are inflated, and what the decoder's window may take beside what comes out. */
const decoders: Readonly<Record<string, { create(): Duplex; windowBytes: number }>> = {
  gzip: { create: createGunzip, windowBytes: 65_536 },
  deflate: { create: createInflate, windowBytes: 65_536 },
  // A window of up to 16 MiB (RFC 7932, section 9.1), which fills as the body does.
  br: { create: createBrotliDecompress, windowBytes: 8 * 1_048_576 },
};

/** Reads a request's body. */
export type ReadBytes = (request: Request, response: Response) => Promise<Buffer>;

/** A body of this size and more waits for its turn: parsing it takes longer than several small requests. */
const minTurnBytes = 16_384;

/** Whose bodies count against which budget. */
export interface BodyBudget {
  shares: Shares;
  /** Gives out turns to parse large bodies. */
  turn: Turn;
  ownerOf(response: Response): string;
}

/**
 * Reads bodies up to a size, inflating gzip, deflate and Brotli; the limit holds for what comes out. With a budget, a body
 * counts as it arrives, and until its request is answered; one that arrives in a single piece is not worth counting. A
 * large one is given when it is its owner's turn, and is to be parsed at once.
 * @returns a function that throws AppError 413, 415 for another encoding, 400 with `fields.body`, or the budget's refusal
 */
export function createBytesReader(limitBytes: number, budget?: BodyBudget): ReadBytes {
  const read: ReadBytes = (request, response) => {
    // Where the client left while its key was looked up, no event tells of it any more.
    if (response.closed) return Promise.reject(cutOff());
    const held = budget ? new HeldBytes(budget, response) : undefined;
    const encoding = (request.headers["content-encoding"] ?? "identity").toLowerCase();
    if (encoding === "identity") return readPlain(request, limitBytes, held);
    const decoder = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
    if (decoder) return readEncoded(request, limitBytes, decoder, held);
    const allowed = ["identity", ...Object.keys(decoders)];
    return Promise.reject(new AppError("unsupported_media_type", { details: { allowed } }));
  };
  if (!budget) return read;
  return async (request, response) => {
    const bytes = await read(request, response);
    if (bytes.length >= minTurnBytes) await waitForTurn(budget, response);
    return bytes;
  };
}

/** A body whose client leaves meanwhile is let go: nothing counts it any more, and nobody takes the answer. */
async function waitForTurn({ turn, ownerOf }: BodyBudget, response: Response): Promise<void> {
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  if (!response.closed) await Promise.race([turn(ownerOf(response)), closed]);
  if (response.closed) throw cutOff();
}

/** One request's part of a budget; the response's close gives it back. */
class HeldBytes {
  private bytes = 0;
  private isReleased = false;

  constructor(
    private readonly budget: BodyBudget,
    private readonly response: Response,
  ) {}

  /** Takes more, or gives the refusal. */
  add(bytes: number): AppError | undefined {
    const { shares, ownerOf } = this.budget;
    const owner = ownerOf(this.response);
    const refusal = this.isReleased ? undefined : shares.take(owner, bytes);
    if (refusal || this.isReleased) return refusal;
    if (this.bytes === 0) this.response.once("close", () => this.release(owner));
    this.bytes += bytes;
    return undefined;
  }

  private release(owner: string): void {
    this.isReleased = true;
    this.budget.shares.give(owner, this.bytes);
  }
}

/** Collects pieces up to a size; of a body that is refused it keeps none. */
class Pieces {
  private pieces: Buffer[] = [];
  private length = 0;

  constructor(
    private readonly limitBytes: number,
    private readonly held: HeldBytes | undefined,
  ) {}

  /** Takes a piece, or gives the refusal; then the pieces before are let go, since the request may still arrive for long. */
  add(piece: Buffer, isWhole: boolean): AppError | undefined {
    this.length += piece.length;
    const refusal = this.length > this.limitBytes ? tooLarge(this.limitBytes) : this.hold(piece, isWhole);
    if (refusal) this.pieces.length = 0;
    else this.pieces.push(piece);
    return refusal;
  }

  private hold(piece: Buffer, isWhole: boolean): AppError | undefined {
    return isWhole ? undefined : this.held?.add(piece.length + bytesPerPiece);
  }

  join(): Buffer {
    const [first] = this.pieces;
    return this.pieces.length === 1 && first ? first : Buffer.concat(this.pieces, this.length);
  }
}

function tooLarge(limitBytes: number): AppError {
  return new AppError("body_too_large", { details: { limit_bytes: limitBytes } });
}

/** How long one refused body is read before the next has its turn. */
const discardMs = 100;

/**
 * Refused bodies that still arrive. They are read and thrown away, so that a client that sends on gets to read the answer; one
 * at a time, since reading many at once keeps the event loop from everybody else. The server's time for a request ends those
 * that take too long.
 */
class Discards {
  private readonly waiting: Request[] = [];
  private isReading = false;

  add(request: Request): void {
    request.removeAllListeners("data").pause();
    this.waiting.push(request);
    this.next();
  }

  private next(): void {
    if (this.isReading) return;
    const request = this.waiting.shift();
    if (!request) return;
    this.isReading = true;
    // A request that is answered already hears nothing of its connection's end.
    const { socket } = request;
    const goOn = () => {
      clearTimeout(timer);
      request.off("end", goOn).off("close", goOn);
      socket.off("close", goOn);
      this.isReading = false;
      setImmediate(() => this.next());
    };
    const timer = setTimeout(() => {
      request.pause();
      this.waiting.push(request);
      goOn();
    }, discardMs);
    socket.once("close", goOn);
    if (request.destroyed || request.readableEnded || socket.destroyed) goOn();
    else request.once("end", goOn).once("close", goOn).resume();
  }
}

const discards = new Discards();

/** Reads a body that is not encoded, as nearly all are. */
function readPlain(request: Request, limitBytes: number, held: HeldBytes | undefined): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces = new Pieces(limitBytes, held);
    const declared = Number(request.headers["content-length"] ?? Number.NaN);
    const refuse = (error: AppError) => {
      discards.add(request);
      reject(error);
    };
    if (declared > limitBytes) {
      refuse(tooLarge(limitBytes));
      return;
    }
    request.on("data", (piece: Buffer) => {
      const refusal = pieces.add(piece, piece.length === declared);
      if (refusal) refuse(refusal);
    });
    request.once("end", () => resolve(pieces.join()));
    request.once("error", (error) => reject(cutOff(error)));
  });
}

function cutOff(cause?: unknown): AppError {
  return validationError({ body: "The body was cut off" }, cause);
}

/** Inflates a body; no more of it is read than the decoder takes. */
function readEncoded(
  request: Request,
  limitBytes: number,
  { create, windowBytes }: { create(): Duplex; windowBytes: number },
  held: HeldBytes | undefined,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces = new Pieces(limitBytes, held);
    const decoder = create();
    const refuse = (error: AppError) => {
      request.unpipe(decoder);
      decoder.destroy();
      discards.add(request);
      reject(error);
    };
    const refusal = held?.add(windowBytes);
    if (refusal) {
      refuse(refusal);
      return;
    }
    decoder.on("data", (piece: Buffer) => {
      const refusal = pieces.add(piece, false);
      if (refusal) refuse(refusal);
    });
    decoder.once("end", () => resolve(pieces.join()));
    decoder.once("error", (error) => refuse(unreadable(error)));
    request.once("error", (error) => refuse(unreadable(error)));
    request.pipe(decoder);
  });
}

function unreadable(cause: unknown): AppError {
  const body = "The body could not be read: it is cut off or not in its Content-Encoding";
  return validationError({ body }, cause);
}
