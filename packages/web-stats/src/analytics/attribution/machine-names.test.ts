import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { startNameServer } from "@waymark/testing";
import { createClaimCheck, type OpenClaim } from "./machine-claims.js";
import { createClaimSettler } from "./machine-names.js";
import { createMachineNamer, loadMachines } from "./machines.js";

const google = ["googlebot.com", "google.com"];
const open = (ip: string, domains: readonly string[] = google): OpenClaim => ({ ip, domains, otherwise: "false" });
const addressOf = (index: number) => `66.249.${Math.floor(index / 250)}.${index % 250}`;
const reverseOf = (ip: string) => `PTR ${ip.split(".").reverse().join(".")}.in-addr.arpa`;

let server: Awaited<ReturnType<typeof startNameServer>>;

beforeAll(async () => {
  const many = Array.from({ length: 600 }, (_, index) => [reverseOf(addressOf(index)), [`h${index}.example`]] as const);
  server = await startNameServer({
    ...Object.fromEntries(many),
    [reverseOf("66.249.66.1")]: ["crawl-66-249-66-1.GoogleBot.com"],
    "A crawl-66-249-66-1.googlebot.com": ["8.8.8.8", "66.249.66.1"],
    // Anybody may give an address of their own such a name.
    [reverseOf("9.9.9.1")]: ["crawl-66-249-66-1.googlebot.com"],
    [reverseOf("9.9.9.2")]: ["evilgooglebot.com", "googlebot.com.evil.example"],
    "A evilgooglebot.com": ["9.9.9.2"],
    "A googlebot.com.evil.example": ["9.9.9.2"],
    "PTR 1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.0.3.1.0.c.0.6.8.4.1.0.0.2.ip6.arpa": ["a.googlebot.com"],
    "AAAA a.googlebot.com": ["2001:4860:c013:1:0:0:0:1"],
    [reverseOf("9.9.9.3")]: "fails",
    [reverseOf("9.9.9.4")]: ["b.google.com"],
    "A b.google.com": "fails",
    ...Object.fromEntries(Array.from({ length: 40 }, (_, index) => [reverseOf(`9.9.8.${index}`), "silent"] as const)),
  });
});

afterAll(() => void server.close());

async function settle(claims: readonly OpenClaim[], waitMs = 10_000) {
  const decide = await createClaimSettler(server.resolver)("owner", claims, waitMs);
  return claims.map(decide);
}

describe("a claim of a machine whose operator publishes a domain", () => {
  it("is verified by a name that leads back, of IPv4 and IPv6", async () => {
    expect(await settle([open("66.249.66.1"), open("2001:4860:c013:1::1")])).toEqual(["verified", "verified"]);
  });

  it("is false without a name, with another one, and with one that leads elsewhere", async () => {
    expect(await settle([open("9.9.9.9"), open("9.9.9.2"), open("9.9.9.1")])).toEqual(["false", "false", "false"]);
    expect(await settle([{ ...open("9.9.9.9"), otherwise: "unknown" }])).toEqual(["unknown"]);
  });

  it("is unknown where name servers fail", async () => {
    expect(await settle([open("9.9.9.3"), open("9.9.9.4")])).toEqual(["unknown", "unknown"]);
  });

  it("is unknown after the wait, and known to the next batch", async () => {
    const settler = createClaimSettler(server.resolver);
    const claims = Array.from({ length: 600 }, (_, index) => open(addressOf(index)));
    const decided = (await settler("owner", claims, 0)).name;
    expect(decided).toBe("");
    const before = server.asked.length;
    const all = await settler("owner", claims, 60_000);
    expect(new Set(claims.map(all))).toEqual(new Set(["false"]));
    await settler("owner", claims, 60_000);
    expect(server.asked.length - before).toBeLessThanOrEqual(600);
  });

  it("asks a silent name server few questions, and leaves other owners theirs", async () => {
    const settler = createClaimSettler(server.resolver);
    const silent = Array.from({ length: 40 }, (_, index) => open(`9.9.8.${index}`));
    const before = server.asked.length;
    const [none, own] = await Promise.all([
      settler("one", silent, 20_000),
      settler("other", [open("66.249.66.1")], 20_000),
    ]);
    expect(new Set(silent.map(none))).toEqual(new Set(["unknown"]));
    expect(own(open("66.249.66.1"))).toBe("verified");
    // Sixteen at once, and none after eight in a row failed.
    expect(server.asked.length - before).toBeLessThanOrEqual(16 + 7 + 2);
  });
});

describe("comparing an address", () => {
  const now = Date.parse("2026-10-20T12:00:00Z");
  const claimOf = createClaimCheck(() => now);
  const nameOf = createMachineNamer();
  const named = nameOf("Googlebot/2.1 (+http://www.google.com/bot.html)");
  if (!named) throw new Error("Googlebot is a machine");

  it("leaves public addresses of such machines open, and nothing of a week ago is false by names of now", () => {
    expect(claimOf(named, "9.9.9.9", "2026-10-20")).toEqual({ ip: "9.9.9.9", domains: google, otherwise: "false" });
    expect(claimOf(named, "9.9.9.9", "2026-10-10")).toMatchObject({ otherwise: "unknown" });
    for (const ip of [null, "no address", "10.0.0.1", "fe80::1%eth0", "192.0.2.1"])
      expect(claimOf(named, ip, "2026-10-20")).toBe("unknown");
  });

  it("has no domain in the list below which anybody can have a name", () => {
    const rented = ["googleusercontent.com", "amazonaws.com", "azure.com", "cloudapp.azure.com", "com", "net", "org"];
    for (const { domains = [] } of loadMachines().machines)
      for (const name of domains) expect(rented).not.toContain(name);
  });
});
