import { AppError } from "@waymark/errors";
import type { Request, Response } from "express";
import type { BodyBudget } from "../body/body-bytes.js";
import type { Answer } from "./route.js";

/** Whether a reading request knows the answer with this `ETag`: `If-None-Match` names it, weak or strong, or any (RFC 9110, 13.1.2). */
export function isKnownTag(request: Pick<Request, "headers" | "method">, tag: string | undefined): boolean {
  const known = request.headers["if-none-match"];
  if (known === undefined || (request.method !== "GET" && request.method !== "HEAD")) return false;
  return known.trim() === "*" || (tag !== undefined && known.includes(tag.replace(/^W\//, "")));
}

/** Bounds the bytes of answers not read by clients yet. */
export type AnswerBudget = Omit<BodyBudget, "turn">;

/** Smaller answers are not counted: the number of requests in progress bounds them. */
const maxUncountedBytes = 65_536;

/** By Node's own methods: Express's cost several times as much. @returns a promise only if the body has chunks */
export function sendAnswer(
  response: Response,
  { status, headers, body, contentType }: Answer,
  budget?: AnswerBudget,
): Promise<void> | undefined {
  if (Buffer.isBuffer(body)) {
    writeHead(response, status, contentType ?? "application/json", headers);
    endWith(response, status, body, body.length);
    return undefined;
  }
  // A line end after JSON keeps a terminal's next prompt on a line of its own.
  const lineEnd = contentType === undefined ? "\n" : "";
  const isText = typeof body === "string" || !(Symbol.asyncIterator in body);
  const text = isText ? (typeof body === "string" ? body : JSON.stringify(body)) + lineEnd : "";
  const bytes = Buffer.byteLength(text);
  if (budget && bytes > maxUncountedBytes) hold(response, bytes, budget);
  writeHead(response, status, withCharset(contentType ?? "application/json"), headers);
  if (!isText) return sendChunks(response, lineEnd ? endLine(body) : body);
  endWith(response, status, text, bytes);
  return undefined;
}

function writeHead(response: Response, status: number, contentType: string, headers: Answer["headers"]): void {
  response.statusCode = status;
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("Content-Type", contentType);
  if (headers) for (const name in headers) response.setHeader(name, headers[name] ?? "");
}

function endWith(response: Response, status: number, body: string | Buffer, bytes: number): void {
  // A 304 has no body, and its length would be that of the text it spares.
  if (status !== 304) response.setHeader("Content-Length", bytes);
  response.end(typeof body === "string" && bytes > maxTextBytes ? outsideOfHeap(body, bytes) : body);
}

/** A longer text waits for the network as bytes: garbage collection would copy it meanwhile. */
const maxTextBytes = 2_048;

function outsideOfHeap(text: string, bytes: number): Buffer {
  return Buffer.from(text, bytes === text.length ? "latin1" : "utf8");
}

function hold(response: Response, bytes: number, { shares, ownerOf }: AnswerBudget): void {
  if (response.closed) return;
  const owner = ownerOf(response);
  const refusal = shares.take(owner, bytes);
  if (refusal) throw refusal;
  response.once("close", () => shares.give(owner, bytes));
}

function withCharset(contentType: string): string {
  return contentType.includes("charset=") ? contentType : `${contentType}; charset=utf-8`;
}

async function* endLine(chunks: AsyncIterable<string | Buffer>): AsyncGenerator<string | Buffer, void, void> {
  yield* chunks;
  yield "\n";
}

/**
 * Sends each chunk once the client has taken the one before, and stops when the client leaves. An error before the first
 * chunk becomes an error answer. A later error cuts the connection, so no client takes a part for the whole; it is
 * logged unless it is a refusal.
 */
async function sendChunks(response: Response, chunks: AsyncIterable<string | Buffer>): Promise<void> {
  if (response.req.method === "HEAD") {
    response.end();
    return;
  }
  try {
    for await (const chunk of chunks) {
      if (response.closed) return;
      if (!response.write(chunk)) await untilDrained(response);
      if (response.closed) return;
    }
  } catch (error) {
    if (!response.headersSent) throw error;
    response.destroy();
    if (!(error instanceof AppError)) throw error;
    return;
  }
  response.end();
}

function untilDrained(response: Response): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}
