import type { Usage } from "@waymark/client";
import { formatCount, formatDuration } from "../output/terminal-text.js";
import { type Check, good, unknown, type Verdict, wrong } from "./check.js";
import type { Reply, TraceService } from "./trace-service.js";

type Answer = Extract<Reply, { status: number }>;

const setUrl = "Set WAYMARK_TRACE_URL to the address of the trace API.";
const newKey = "'waymark key create --service trace --scope ingest' makes a key that sends; set WAYMARK_TRACE_KEY.";

/** OpenSSL's verdicts about a certificate, by their codes in Node's documentation of TLS. */
const certificateCodes = /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(VERIFY|GET_ISSUER))/;
const tlsCodes = /^(ERR_SSL_|ERR_TLS_|EPROTO)/;

/** A difference that a reader of the times sees; `Date` counts whole seconds. */
const maxClockMs = 60_000;

/** What a holder of a key sees of a trace API. */
export const keyChecks: readonly Check<TraceService>[] = [
  { name: "address", look: checkAddress },
  { name: "TLS", look: checkTls },
  { name: "clock", look: checkClock },
  { name: "key", look: checkKey },
  { name: "scope", look: checkScope },
  { name: "quota", look: checkQuota },
  { name: "last run", look: checkLastRun },
];

const isTlsCode = (code: string) => certificateCodes.test(code) || tlsCodes.test(code);

async function checkAddress({ url, probe, deadlineMs }: TraceService): Promise<Verdict> {
  const reply = await probe();
  if ("code" in reply) {
    if (isTlsCode(reply.code)) return good(`${url.host} answers.`);
    if (reply.code === "TIMEOUT")
      return wrong(
        `${url.host} gives no answer within ${deadlineMs / 1_000} s.`,
        `Look for a firewall or proxy on the way, and whether the service hangs. ${setUrl}`,
      );
    if (reply.code === "ECONNREFUSED")
      return wrong(`Nothing listens at ${url.host}.`, `Start Waymark there, or look at the port. ${setUrl}`);
    if (reply.code === "NAME_TIMEOUT")
      return wrong(
        `The name server gives no answer for ${url.hostname}.`,
        "Look at this machine's network and its DNS.",
      );
    if (reply.code === "ENOTFOUND" || reply.code === "EAI_AGAIN")
      return wrong(`No address is known for the name ${url.hostname}.`, setUrl);
    return wrong(`${url.host} breaks the connection off: ${reply.message}.`, setUrl);
  }
  const to = reply.headers.get("Location");
  if (reply.status >= 300 && reply.status < 400 && to !== null)
    return wrong(`${url.origin} leads to another address: ${to}.`, `Set WAYMARK_TRACE_URL to it, without its end.`);
  const name = String(reply.body["name"] ?? "");
  if (/trace/i.test(name)) return good(`${url.origin} answers in ${formatDuration(reply.tookMs * 1_000)}.`);
  const what = name === "" ? `no trace API of Waymark (${reply.status})` : name;
  return wrong(`${url.origin} answers, and is ${what}.`, setUrl);
}

async function checkTls({ url, probe }: TraceService): Promise<Verdict> {
  const reply = await probe();
  if (url.protocol === "http:") {
    const isLocal = /^(localhost|127\..*|\[::1\])$/.test(url.hostname);
    return good(isLocal ? "Not needed on this machine." : `None: whoever is between reads the key on its way.`);
  }
  if (!("code" in reply)) return good("The certificate is valid.");
  if (certificateCodes.test(reply.code))
    return wrong(
      `The certificate of ${url.hostname} is refused: ${reply.message}.`,
      "Renew it or use its name. Trust an own authority by NODE_EXTRA_CA_CERTS=FILE.",
    );
  if (tlsCodes.test(reply.code))
    return wrong(`${url.host} does not speak TLS: ${reply.code}.`, "Use http:// there, or the port of its proxy.");
  return unknown("The address does not answer.");
}

async function checkClock({ probe, now }: TraceService): Promise<Verdict> {
  const reply = await probe();
  const at = Date.parse(("status" in reply && reply.headers.get("Date")) || "");
  if (Number.isNaN(at)) return unknown("The service did not tell its time.");
  const aheadMs = now().getTime() - at;
  const length = formatDuration(Math.abs(aheadMs) * 1_000);
  if (Math.abs(aheadMs) <= maxClockMs) return good("It agrees with the service's.");
  return wrong(
    `This machine's clock is ${length} ${aheadMs > 0 ? "ahead of" : "behind"} the service's: runs show wrong times.`,
    "Let NTP set both clocks.",
  );
}

/** Why the key could not be looked at; undefined where the API knows it. */
function withoutKey({ key }: TraceService, reply: Reply): Verdict | undefined {
  if (!key) return unknown("There is no key.");
  if ("code" in reply) return unknown("The address does not answer.");
  if (reply.status === 401) return unknown("The key is refused.");
  const isKnown = [200, 400, 403].includes(reply.status) && isJson(reply);
  return isKnown ? undefined : unknown(`The API answered ${reply.status}: ${reply.body["error"] ?? "nothing known"}.`);
}

const isJson = ({ headers }: Answer) => (headers.get("Content-Type") ?? "").startsWith("application/json");

async function checkKey(service: TraceService): Promise<Verdict> {
  const { key } = service;
  if (!key) return wrong("There is no key: WAYMARK_TRACE_KEY is not set.", newKey);
  if (!/^[\x21-\x7e]+$/.test(key)) return wrong("The key has characters that no key has.", newKey);
  const reply = await service.usage();
  if ("status" in reply && reply.status === 401) {
    const hint = String(reply.body["hint"] ?? "It is mistyped, revoked, or of another service").replace(/\.$/, "");
    return wrong(`The API refuses the key …${key.slice(-4)}: ${hint}.`, newKey);
  }
  return withoutKey(service, reply) ?? good(`A key of the trace service, …${key.slice(-4)}.`);
}

async function checkScope(service: TraceService): Promise<Verdict> {
  const [usage, send] = await Promise.all([service.usage(), service.send()]);
  const hidden = withoutKey(service, usage) ?? withoutKey(service, send);
  if (hidden || !("status" in usage && "status" in send)) return hidden ?? unknown("There is no answer.");
  if (send.status === 403)
    return wrong("The scope is read: the key reads, and sends no runs.", `Agents need ingest or all. ${newKey}`);
  return usage.status === 403 ? good("ingest: it sends runs, and reads nothing.") : good("all: it sends and reads.");
}

async function checkQuota(service: TraceService): Promise<Verdict> {
  const reply = await service.usage();
  const hidden = withoutKey(service, reply);
  if (hidden || !("status" in reply)) return hidden ?? unknown("There is no answer.");
  if (reply.status === 403) return unknown("A key of the scope ingest cannot read it.");
  const { traces, bytes, agents } = reply.body as unknown as Usage;
  const until = `until ${traces.resets_at}`;
  const cure = "Use a larger plan, or wait.";
  if (traces.remaining === 0)
    return wrong(`The month's ${formatCount(traces.limit)} traces are used: new runs are refused ${until}.`, cure);
  if (bytes?.remaining === 0)
    return wrong(`The month's ${formatCount(bytes.limit)} bytes are used: contents are refused ${until}.`, cure);
  const ofAgents = agents.limit === null ? "" : `; ${agents.current} of ${agents.limit} agents`;
  return good(`${formatCount(traces.remaining)} of ${formatCount(traces.limit)} traces are left ${until}${ofAgents}.`);
}

async function checkLastRun(service: TraceService): Promise<Verdict> {
  const reply = await service.newest();
  const hidden = withoutKey(service, reply);
  if (hidden || !("status" in reply)) return hidden ?? unknown("There is no answer.");
  if (reply.status === 403) return unknown("A key of the scope ingest cannot read it.");
  const [run] = reply.body["traces"] as { name: string; agent_id: string; status: string; started_at: string }[];
  if (!run) return wrong("No run has come yet.", "'waymark init' shows the lines for your program, and sends a run.");
  const ago = formatDuration((service.now().getTime() - Date.parse(run.started_at)) * 1_000);
  return good(`"${run.name}" of ${run.agent_id}, ${run.status}, began ${ago} ago.`);
}
