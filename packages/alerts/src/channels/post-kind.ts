import { judgePost } from "../sending/judge-answer.js";
import type { Kind, Sending } from "./kind.js";

const maxUrlLength = 2_000;

interface PostKind extends Omit<Kind, "placeholder" | "addressRule" | "readAddress" | "send"> {
  /** JSON. */
  body(sending: Sending): string;
  headers?(sending: Sending, body: string): Readonly<Record<string, string>>;
}

/** A kind whose messages are posted to a URL. */
export function postKind({ body: bodyOf, headers: headersOf, ...kind }: PostKind): Kind {
  return {
    ...kind,
    placeholder: "https://",
    addressRule: `Must be an http or https URL without a name or password, of at most ${maxUrlLength} characters`,
    readAddress: readUrl,
    async send(sending, { post }) {
      const body = bodyOf(sending);
      const headers = { "content-type": "application/json", ...headersOf?.(sending, body) };
      return judgePost(await post({ url: sending.to, headers, body }), sending.owed);
    },
  };
}

function readUrl(text: string): string | undefined {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "")
    return undefined;
  url.hash = "";
  return url.href.length <= maxUrlLength ? url.href : undefined;
}
