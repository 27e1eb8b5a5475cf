import { AppError } from "@waymark/errors";
import type { Answer } from "@waymark/service/http";
import type { Request } from "express";

/** Marks a request of another cell's dashboard: it goes no further. It opens nothing. */
const passedOn = "X-Waymark-Cell";
/** Then a cell counts as away. */
const timeoutMs = 3_000;

interface OtherCellsOptions {
  urls: readonly string[];
  /** The client's address, by the trusted proxies. */
  addressOf(request: Request): string;
}

interface Question {
  request: Request;
  method: "GET" | "POST";
  path: string;
  body?: object;
}

export type OtherCells = ReturnType<typeof createOtherCells>;

/** The dashboards of the other cells. Who signs in has no slot yet, so the proxy cannot know the cell. */
export function createOtherCells({ urls, addressOf }: OtherCellsOptions) {
  async function askAll({ request, method, path, body }: Question) {
    if (urls.length === 0 || request.get(passedOn) !== undefined) return { given: [], isSomeAway: false };
    const headers: Record<string, string> = {
      [passedOn]: "1",
      "Sec-Fetch-Site": "same-origin",
      "X-Forwarded-For": addressOf(request),
      ...(body && { "Content-Type": "application/json" }),
    };
    for (const name of ["cookie", "user-agent"]) headers[name] = request.get(name) ?? "";
    const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const answers = await Promise.allSettled(urls.map((url) => askOne(`${url}/dashboard/api${path}`, sent)));
    const given = answers.flatMap((answer) => (answer.status === "fulfilled" && answer.value ? [answer.value] : []));
    return { given, isSomeAway: answers.some(({ status }) => status === "rejected") };
  }

  return {
    askAll,
    /**
     * Asks all of them at once, as the client does. The first in order that says yes answers; undefined if none does, or if the
     * request came from one of them.
     * @throws AppError 503 if one that is away could have said yes
     */
    async ask(question: Question): Promise<Answer | undefined> {
      const { given, isSomeAway } = await askAll(question);
      const best = [200, 400].flatMap((good) => given.filter(({ status }) => status === good))[0] ?? given[0];
      if (!best && isSomeAway) throw new AppError("unavailable");
      return best;
    },
  };
}

async function askOne(url: string, sent: RequestInit): Promise<Answer | undefined> {
  const answer = await fetch(url, { ...sent, redirect: "error", signal: AbortSignal.timeout(timeoutMs) });
  const text = await answer.text();
  if (answer.status >= 500) throw new Error(`${url} answered ${answer.status}`);
  // 400: it knows the person or the link, and a field is wrong.
  if (!answer.ok && answer.status !== 400) return undefined;
  const cookie = answer.headers.get("set-cookie");
  return {
    status: answer.status,
    body: JSON.parse(text) as object,
    ...(cookie !== null && { headers: { "Set-Cookie": cookie } }),
  };
}
