import type { MessagePort, Worker } from "node:worker_threads";

/** Functions that the other side of a port may call. Values are copied, but the memory of typed arrays in them moves. */
type Services<Type> = { readonly [Name in keyof Type]: (given: never) => Promise<unknown> };

interface Call {
  readonly id: number;
  readonly name: string;
  readonly given: unknown;
}

interface Answer {
  readonly id: number;
  readonly isDone: boolean;
  readonly value?: unknown;
}

/** A call failed on the other side, which keeps the error. */
export class RemoteError extends Error {
  override name = "RemoteError";
}

/** Makes the function that calls those of the other side. */
export function callThrough<Type extends Services<Type>>(port: MessagePort) {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let last = 0;
  port.on("message", ({ id, isDone, value }: Answer) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (isDone) call?.resolve(value);
    else call?.reject(new RemoteError("The other side failed"));
  });
  return <Name extends keyof Type & string>(name: Name, given: Parameters<Type[Name]>[0]) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      port.postMessage({ id, name, given } satisfies Call, buffersOf(given));
    }) as ReturnType<Type[Name]>;
}

/** Answers the calls of the other side, which learns of an error only that there is one. */
export function answerCalls<Type extends Services<Type>>(
  port: MessagePort | Worker,
  services: Type,
  onError: (error: unknown) => void,
): void {
  port.on("message", async ({ id, name, given }: Call) => {
    try {
      const value = await services[name as keyof Type](given as never);
      port.postMessage({ id, isDone: true, value } satisfies Answer, buffersOf(value));
    } catch (error) {
      onError(error);
      port.postMessage({ id, isDone: false } satisfies Answer);
    }
  });
}

function buffersOf(value: unknown): ArrayBuffer[] {
  if (typeof value !== "object" || value === null) return [];
  const views = ArrayBuffer.isView(value) ? [value] : Object.values(value).filter(ArrayBuffer.isView);
  return views.map(({ buffer }) => buffer as ArrayBuffer);
}
