import type { Duplex } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { AppError, validationError } from "@waymark/errors";
import type { Request, Response } from "express";
import type { Shares } from "../limits/shares.js";
import type { Turn } from "../limits/work-shares.js";

/** Milliseconds to read from one refused body before the next has its turn. */
const discardMs = 100;

/**
 * Reads refused bodies to their end and throws them away, so a client still sending gets the answer. It reads
 * one at a time: reading many would keep the event loop from other requests. The server's request timeout ends slow ones.
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
    // An answered request emits nothing when its connection ends, so the socket is watched as well.
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

/** Memory of a chunk beside its bytes, and most of the memory of a body arriving byte by byte. */
const bytesPerChunk = 256;

/** Decoders by `Content-Encoding`, with the memory of their windows beside the inflated bytes. */
const decoders: Readonly<Record<string, { create(): Duplex; windowBytes: number }>> = {
  gzip: { create: createGunzip, windowBytes: 65_536 },
  deflate: { create: createInflate, windowBytes: 65_536 },
  // The window of up to 16 MiB (RFC 7932, section 9.1) fills as the body does.
  br: { create: createBrotliDecompress, windowBytes: 8 * 1_048_576 },
};

export type ReadBytes = (request: Request, response: Response) => Promise<Buffer>;

/** Bodies of this size and more wait for a turn: parsing one takes longer than several small requests. */
const minTurnBytes = 16_384;

export interface BodyBudget {
  shares: Shares;
  turn: Turn;
  ownerOf(response: Response): string;
}

/**
 * Makes a reader of bodies; it inflates gzip, deflate and Brotli. A budget counts a body unless it arrives in one chunk.
 * The reader returns a large body when its owner has a turn; the caller should parse it at once.
 * @returns a function that throws AppError 413, 415 for another encoding, 400 with `fields.body`, or the budget's refusal
 */
export function createBytesReader(limitBytes: number, budget?: BodyBudget): ReadBytes {
  const read: ReadBytes = (request, response) => {
    // A client leaving during the look-up of its key causes no further event.
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
  return (request, response) =>
    read(request, response).then((bytes) =>
      bytes.length < minTurnBytes ? bytes : waitForTurn(budget, response).then(() => bytes),
    );
}

/** Drops the body of a client leaving meanwhile: the budget no longer counts it, and nobody reads the answer. */
async function waitForTurn({ turn, ownerOf }: BodyBudget, response: Response): Promise<void> {
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  if (!response.closed) await Promise.race([turn(ownerOf(response)), closed]);
  if (response.closed) throw cutOff();
}

class HeldBytes {
  private bytes = 0;
  private isReleased = false;

  constructor(
    private readonly budget: BodyBudget,
    private readonly response: Response,
  ) {}

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

class Chunks {
  private chunks: Buffer[] = [];
  private length = 0;

  constructor(
    private readonly limitBytes: number,
    private readonly held: HeldBytes | undefined,
  ) {}

  /** Adds a chunk. Returns the refusal if there is one, and drops the chunks: the body may still arrive for long. */
  add(chunk: Buffer, isWhole: boolean): AppError | undefined {
    this.length += chunk.length;
    const refusal = this.length > this.limitBytes ? tooLarge(this.limitBytes) : this.hold(chunk, isWhole);
    if (refusal) this.chunks.length = 0;
    else this.chunks.push(chunk);
    return refusal;
  }

  private hold(chunk: Buffer, isWhole: boolean): AppError | undefined {
    return isWhole ? undefined : this.held?.add(chunk.length + bytesPerChunk);
  }

  join(): Buffer {
    const [first] = this.chunks;
    return this.chunks.length === 1 && first ? first : Buffer.concat(this.chunks, this.length);
  }
}

function tooLarge(limitBytes: number): AppError {
  return new AppError("body_too_large", { details: { limit_bytes: limitBytes } });
}

function readPlain(request: Request, limitBytes: number, held: HeldBytes | undefined): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks = new Chunks(limitBytes, held);
    const declared = Number(request.headers["content-length"] ?? Number.NaN);
    const refuse = (error: AppError) => {
      discards.add(request);
      reject(error);
    };
    if (declared > limitBytes) {
      refuse(tooLarge(limitBytes));
      return;
    }
    request.on("data", (chunk: Buffer) => {
      const refusal = chunks.add(chunk, chunk.length === declared);
      if (refusal) refuse(refusal);
    });
    request.on("end", () => resolve(chunks.join()));
    request.on("error", (error) => reject(cutOff(error)));
  });
}

function cutOff(cause?: unknown): AppError {
  return validationError({ body: "The body was cut off" }, cause);
}

function readEncoded(
  request: Request,
  limitBytes: number,
  { create, windowBytes }: { create(): Duplex; windowBytes: number },
  held: HeldBytes | undefined,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks = new Chunks(limitBytes, held);
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
    decoder.on("data", (chunk: Buffer) => {
      const refusal = chunks.add(chunk, false);
      if (refusal) refuse(refusal);
    });
    decoder.once("end", () => resolve(chunks.join()));
    decoder.once("error", (error) => refuse(unreadable(error)));
    request.once("error", (error) => refuse(unreadable(error)));
    request.pipe(decoder);
  });
}

function unreadable(cause: unknown): AppError {
  const body = "The body could not be read: it is cut off or not in its Content-Encoding";
  return validationError({ body }, cause);
}
