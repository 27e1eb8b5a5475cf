import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Answer } from "@waymark/service/http";
import type { Request } from "express";

const gzipBytes = promisify(gzip);
const minBytes = 8_192;
/** Level 6 saves a tenth and takes twice the time. */
const options = { level: 1, chunkSize: 131_072 };

/** An answer of JSON text, compressed where it is worth it and the browser takes it. */
export async function compressedJson(request: Request, text: string): Promise<Answer> {
  const headers = { Vary: "Accept-Encoding" };
  const isSmall = text.length < minBytes || !request.acceptsEncodings("gzip");
  if (isSmall) return { status: 200, headers, body: text };
  const bytes = await gzipBytes(text, options);
  const contentType = "application/json; charset=utf-8";
  return { status: 200, headers: { ...headers, "Content-Encoding": "gzip" }, contentType, body: bytes };
}
