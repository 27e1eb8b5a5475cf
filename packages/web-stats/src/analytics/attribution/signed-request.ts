import {
  type BareItem,
  type InnerList,
  isInnerList,
  type Parameters,
  parseDictionary,
  parseItem,
  serializeInnerList,
  serializeItem,
} from "structured-headers";

/** A request's headers `Signature`, `Signature-Input` and `Signature-Agent`. */
interface SignatureHeaders {
  readonly signature: string;
  readonly input: string;
  readonly agent: string;
}

export interface ClaimedRequest {
  readonly url: URL;
  readonly method?: string | undefined;
  readonly userAgent: string | null;
  /** `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  readonly at: string;
  readonly signed?: SignatureHeaders | undefined;
}

/** A signature that is well formed and of its time; whether it is right needs the key. */
export interface SignedRequest {
  /** Of the agent's directory of keys, such as `https://chatgpt.com`. */
  readonly origin: string;
  readonly keyId: string;
  readonly base: Buffer;
  readonly signature: Buffer;
  readonly seconds: number;
}

/** Each costs some microseconds. */
const maxSignatures = 4;

/** The draft's longest life of a signature, and how far the clocks of both sides may differ. */
const [maxLifeSeconds, maxSkewSeconds] = [86_400, 60];

/**
 * Reads the signature of an automated client from a request: HTTP Message Signatures (RFC 9421) with the tag `web-bot-auth`, over
 * at least the host and `Signature-Agent` (draft-ietf-webbotauth-httpsig-protocol). Looks at each sign once.
 * @returns undefined without one, and for one that covers what a report does not tell
 */
export function readSignedRequest(request: ClaimedRequest): SignedRequest | undefined {
  if (!request.signed) return undefined;
  try {
    const { input, signature } = request.signed;
    const signatures = parseDictionary(signature);
    for (const [label, list] of [...parseDictionary(input)].slice(0, maxSignatures)) {
      const [bytes] = signatures.get(label) ?? [];
      if (!isInnerList(list) || !(bytes instanceof ArrayBuffer)) continue;
      const read = readList(request, request.signed, list);
      if (read) return { ...read, signature: Buffer.from(bytes) };
    }
  } catch {
    // The headers are no structured fields (RFC 9651).
  }
  return undefined;
}

function readList(request: ClaimedRequest, { agent }: SignatureHeaders, list: InnerList) {
  const [components, parameters] = list;
  const keyId = parameters.get("keyid");
  const seconds = Math.floor(Date.parse(request.at) / 1_000);
  if (parameters.get("tag") !== "web-bot-auth" || typeof keyId !== "string") return undefined;
  if (parameters.has("alg") && parameters.get("alg") !== "ed25519") return undefined;
  if (!isOfItsTime(parameters, seconds)) return undefined;
  let [origin, hasHost]: [string | undefined, boolean] = [undefined, false];
  const lines: string[] = [];
  const covered = new Set<string>();
  for (const [name, options] of components) {
    const id = serializeItem([name, options]);
    if (covered.has(id)) return undefined;
    covered.add(id);
    const value = typeof name === "string" ? componentOf(name, options, request, agent) : undefined;
    if (value === undefined) return undefined;
    hasHost ||= name === "@authority" || name === "@target-uri";
    if (name === "signature-agent") origin = originOf(agent, options.get("key"));
    lines.push(`${id}: ${value}`);
  }
  if (origin === undefined || !hasHost) return undefined;
  lines.push(`"@signature-params": ${serializeInnerList(list)}`);
  return { origin, keyId, base: Buffer.from(lines.join("\n")), seconds };
}

function isOfItsTime(parameters: Parameters, seconds: number): boolean {
  const [created, expires] = [parameters.get("created"), parameters.get("expires")];
  if (typeof created !== "number" || typeof expires !== "number") return false;
  const isShort = expires > created && expires - created <= maxLifeSeconds;
  return isShort && seconds >= created - maxSkewSeconds && seconds <= expires + maxSkewSeconds;
}

/** A covered component's value (RFC 9421, 2); undefined where the report does not have it. */
function componentOf(name: string, options: Parameters, request: ClaimedRequest, agent: string): string | undefined {
  const { url, method, userAgent } = request;
  if (name === "signature-agent" && options.size === 1 && typeof options.get("key") === "string") {
    const member = parseDictionary(agent).get(String(options.get("key")));
    return member && !isInnerList(member) ? serializeItem(member) : undefined;
  }
  if (options.size > 0) return undefined;
  switch (name) {
    case "@authority":
      return url.host;
    case "@target-uri":
      return url.href;
    case "@scheme":
      return url.protocol.slice(0, -1);
    case "@path":
      return url.pathname;
    case "@query":
      return url.search || "?";
    case "@method":
      return method;
    case "signature-agent":
      return agent.trim();
    case "user-agent":
      return userAgent?.trim();
    default:
      return undefined;
  }
}

/** Of `"https://agent.example"`, or of a member of `label="https://agent.example"`. */
function originOf(agent: string, key: BareItem | undefined): string | undefined {
  const [value] = agent.trimStart().startsWith('"') ? parseItem(agent) : (memberOf(agent, key) ?? []);
  if (typeof value !== "string" || !URL.canParse(value)) return undefined;
  const { protocol, origin } = new URL(value);
  return protocol === "https:" ? origin : undefined;
}

function memberOf(agent: string, key: BareItem | undefined) {
  const members = parseDictionary(agent);
  const [first] = members.values();
  return key === undefined ? (members.size === 1 ? first : undefined) : members.get(String(key));
}
