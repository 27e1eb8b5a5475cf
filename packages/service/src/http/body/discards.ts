import type { Request } from "express";

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

export const discards = new Discards();
