import { Transform, type TransformCallback } from "node:stream";

export interface MessageHead {
  isCompressed: boolean;
  bytes: number;
}

const headBytes = 5;

/**
 * Takes the one message of a unary call out of its frame (gRPC over HTTP/2, "Length-Prefixed-Message"): a byte that tells
 * whether it is compressed, its length in four, its bytes. Emits `head` before the bytes, and an error for a call with more
 * or fewer bytes than it says.
 */
export class FramedMessage extends Transform {
  private head = Buffer.alloc(0);
  private left: number | undefined;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const bytes = this.left === undefined ? this.readHead(chunk) : chunk;
    this.left = this.left === undefined ? undefined : this.left - bytes.length;
    if (this.left !== undefined && this.left < 0) done(new Error("The call has more than one message"));
    else done(null, bytes.length > 0 ? detach(bytes) : undefined);
  }

  override _flush(done: TransformCallback): void {
    done(this.left === 0 ? null : new Error("The call ended before its message"));
  }

  /** Collects the frame's head; returns the bytes after it. */
  private readHead(chunk: Buffer): Buffer {
    this.head = Buffer.concat([this.head, chunk]);
    if (this.head.length < headBytes) return Buffer.alloc(0);
    const head: MessageHead = { isCompressed: this.head[0] === 1, bytes: this.head.readUInt32BE(1) };
    this.left = head.bytes;
    this.emit("head", head);
    return this.head.subarray(headBytes);
  }
}

/** Copies a small part of what the connection has read: it would keep all of that, up to 64 KiB for a byte. */
function detach(bytes: Buffer): Buffer {
  return bytes.length * 4 < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}
