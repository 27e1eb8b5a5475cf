import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import { type Check, good, unknown, type Verdict, wrong } from "./check.js";
import type { Installation } from "./installation.js";

const timeoutMs = 3_000;
const leastCertificateDays = 14;
const dayMs = 86_400_000;

const services = ["TRACE_API", "ANALYTICS_API", "COLLECTOR", "DASHBOARD"] as const;

/** The public address of each service: name, certificate, and whether it answers. */
export const addressChecks: readonly Check<Installation>[] = services.map((service) => ({
  name: service.toLowerCase().replace("_api", " API"),
  look: (installation) => checkAddress(service, installation),
}));

async function checkAddress(service: (typeof services)[number], { env, now }: Installation): Promise<Verdict> {
  const [domain, address] = [env[`${service}_DOMAIN`], env[`${service}_URL`]];
  const setting = domain ? `${service}_DOMAIN` : `${service}_URL`;
  if (!domain && !address) return unknown(`Neither ${service}_DOMAIN nor ${service}_URL says where it is.`);
  const text = domain ? `https://${domain}` : String(address);
  if (!URL.canParse(text)) return wrong(`${setting} is no address.`, "Write it as https://traces.example.com.");
  const url = new URL(text);
  if (url.pathname !== "/")
    return wrong(`${setting} has a path: ${url.pathname}.`, "Each service needs its own domain.");
  const found = await lookup(url.hostname).catch(() => undefined);
  if (!found) return wrong(`No address is known for ${url.hostname}.`, "Add a DNS record that leads to the proxy.");
  if (url.protocol === "http:" && !isLocal(url.hostname))
    return wrong(
      `${url.origin} is not encrypted: whoever is between reads keys.`,
      "Put a proxy with TLS in front of it.",
    );
  const days = url.protocol === "https:" ? await certificateDays(url, now()) : undefined;
  if (typeof days === "string")
    return wrong(`${url.host}: ${days}.`, "Look at the proxy's log, and at ports 80 and 443.");
  if (days !== undefined && days < leastCertificateDays)
    return wrong(
      `The certificate of ${url.hostname} ends in ${Math.floor(days)} days.`,
      "Look why the proxy does not renew it.",
    );
  const status = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(timeoutMs) }).then(
    (response) => response.status,
    (error: Error) => (error.cause instanceof Error ? error.cause : error).message,
  );
  // Within a container `localhost` is the container.
  if (typeof status === "string" && isLocal(url.hostname))
    return unknown(`${url.origin} does not answer here: ${status}.`);
  if (typeof status === "string")
    return wrong(`${url.host} gives no answer: ${status}.`, "Start it, or look at its proxy.");
  if (status >= 500) return wrong(`${url.host} answers ${status}.`, "Look at its log.");
  return good(
    `${url.origin} answers${days === undefined ? "" : `, its certificate for ${Math.floor(days)} more days`}.`,
  );
}

function isLocal(host: string): boolean {
  return (
    /^(localhost|.*\.localhost|127\..*|10\..*|192\.168\..*|\[::1\])$/.test(host) || !(host.includes(".") || isIP(host))
  );
}

/** How long the certificate still counts, or why there is none. */
function certificateDays(url: URL, now: Date): Promise<number | string> {
  return new Promise((resolve) => {
    const port = Number(url.port || 443);
    const socket = connectTls({
      host: url.hostname,
      port,
      servername: isIP(url.hostname) ? "" : url.hostname,
      timeout: timeoutMs,
    });
    const end = (result: number | string) => {
      socket.destroy();
      resolve(result);
    };
    socket.once("secureConnect", () => end((Date.parse(socket.getPeerCertificate().valid_to) - now.getTime()) / dayMs));
    socket.once("timeout", () => end("no answer in time"));
    // OpenSSL's own messages have its source's lines.
    socket.once("error", (error: NodeJS.ErrnoException) =>
      end(error.code?.startsWith("ERR_SSL") ? `no TLS (${error.code})` : error.message),
    );
  });
}
