import { AppError, validationError } from "@waymark/errors";
import express, { type Request, type RequestHandler, type Response } from "express";

/** Reads a request's body. */
export type ReadBytes = (request: Request, response: Response) => Promise<Buffer>;

/**
 * Reads bodies up to a size, inflating gzip, deflate and Brotli; the limit holds for what comes out.
 * @returns a function that throws AppError 413, 415 for another encoding, or 400 with `fields.body`
 */
export function createBytesReader(limitBytes: number): ReadBytes {
  const inflate: RequestHandler = express.raw({ type: () => true, limit: limitBytes, inflate: true });
  return (request, response) => {
    const isPlain = (request.headers["content-encoding"] ?? "identity") === "identity";
    return isPlain ? readPlain(request, limitBytes) : readEncoded(inflate, request, response);
  };
}

/** An empty body leaves nothing behind. */
async function readEncoded(inflate: RequestHandler, request: Request, response: Response): Promise<Buffer> {
  await new Promise<void>((resolve, reject) => {
    void inflate(request, response, (error?: unknown) => (error ? reject(error) : resolve()));
  });
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

/** Reads a body that is not encoded, as nearly all are: `express.raw` would cost several times as much. */
function readPlain(request: Request, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const refuse = () => {
      // What still comes is read and thrown away, so that a client that sends on gets to read the answer.
      request.removeAllListeners("data").resume();
      reject(new AppError("body_too_large", { details: { limit_bytes: limitBytes } }));
    };
    if (Number(request.headers["content-length"] ?? 0) > limitBytes) {
      refuse();
      return;
    }
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > limitBytes) refuse();
      else chunks.push(chunk);
    });
    request.once("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length)));
    request.once("error", (error) => reject(validationError({ body: "The body was cut off" }, error)));
  });
}
