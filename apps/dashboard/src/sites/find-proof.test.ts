import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, describe, expect, it } from "@jest/globals";
import { findProof, type ProofNetwork } from "./find-proof.js";

const proof = {
  text: "waymark-site=0123456789abcdef",
  fileUrl: "https://example.com/.well-known/waymark-site.txt",
  recordName: "_waymark.example.com",
};
const publicAddress = "93.184.215.14";
const servers: { close(): void }[] = [];
afterAll(() => servers.forEach((server) => void server.close()));

/** A network with a real HTTP server behind every address, and without records. */
async function outside(answer: RequestListener, changes: Partial<ProofNetwork> = {}) {
  const asked: string[] = [];
  const connected: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.headers.host}${request.url}`);
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  servers.push({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  const network: ProofNetwork = {
    resolve: async () => [publicAddress],
    resolveText: async () => [],
    connect: (address) => {
      connected.push(address);
      return connect((server.address() as AddressInfo).port, "127.0.0.1");
    },
    ...changes,
  };
  return { network, asked, connected };
}

const noFile: RequestListener = (_request, response) => response.writeHead(404).end();
const text = (body: string): RequestListener => {
  return (_request, response) => response.end(body);
};
const redirect = (location: string): RequestListener => {
  return (_request, response) => response.writeHead(302, { location }).end();
};

describe("findProof", () => {
  it.each([proof.text, `\r\n other=1\r\n ${proof.text} \r\n`])("takes the file %j", async (body) => {
    const { network, asked, connected } = await outside(text(body));
    expect(await findProof(proof, { network })).toEqual({ isProven: true });
    expect(asked).toEqual(["example.com/.well-known/waymark-site.txt"]);
    expect(connected).toEqual([publicAddress]);
  });

  it("takes the record, also where the file's host is away", async () => {
    const names: string[] = [];
    const resolveText = async (name: string) => {
      names.push(name);
      return ["v=spf1 -all", proof.text];
    };
    const resolve = () => Promise.reject(new Error("SERVFAIL"));
    const { network } = await outside(noFile, { resolveText, resolve });
    expect(await findProof(proof, { network })).toEqual({ isProven: true });
    expect(names).toEqual(["_waymark.example.com"]);
  });

  it("follows a redirect to www. and within the host", async () => {
    const { network, asked } = await outside((request, response) => {
      if (request.headers.host === "example.com") redirect("https://www.example.com/file")(request, response);
      else text(proof.text)(request, response);
    });
    expect(await findProof(proof, { network })).toEqual({ isProven: true });
    expect(asked).toEqual(["example.com/.well-known/waymark-site.txt", "www.example.com/file"]);
  });

  it.each([
    ["another text", text("waymark-site=other"), "The file has another text."],
    ["the text inside a line", text(`<p>${proof.text}</p>`), "The file has another text."],
    ["no file", noFile, "The file answers 404."],
    ["a large file", text(`${proof.text}\n${"x".repeat(1_024)}`), "It could not be reached."],
    ["another host", redirect("https://other.example/"), "It leads to another host."],
    ["a longer host", redirect("https://www.example.com.other.example/"), "It leads to another host."],
    ["a private address", redirect("https://169.254.169.254/latest/meta-data"), "It leads to another host."],
    ["plain HTTP", redirect("http://example.com/"), "It leads to another host."],
    ["another port", redirect("https://example.com:8443/"), "It leads to another host."],
    ["another scheme", redirect("file:///etc/passwd"), "It leads to another host."],
    ["endless redirects", redirect("/again"), "It redirects too often."],
  ])("finds none in %s", async (_what, answer, file) => {
    const { network, connected } = await outside(answer);
    const found = await findProof(proof, { network });
    expect(found).toMatchObject({ isProven: false, record: "There is no TXT record." });
    expect(["The file has more than 1024 bytes.", file]).toContain(found.file);
    expect(connected.length).toBeLessThan(4);
  });

  it("says so when the record has another text", async () => {
    const { network } = await outside(noFile, { resolveText: async () => ["waymark-site=other"] });
    expect(await findProof(proof, { network })).toMatchObject({ record: "The TXT record has another text." });
  });

  it("gives up after the time for both", async () => {
    const never = () => new Promise<never>(() => undefined);
    const { network } = await outside(() => undefined, { resolveText: never });
    const late = "It took too long to answer.";
    const found = await findProof(proof, { network, timeoutMs: 50 });
    expect(found.record).toBe(late);
    expect([late, "It could not be reached."]).toContain(found.file);
  });
});

describe("a domain that leads into the own network", () => {
  it.each([
    "127.0.0.1",
    "169.254.169.254",
    "10.1.2.3",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:a9fe:a9fe",
    "fd00:ec2::254",
    "64:ff9b::7f00:1",
  ])("is not connected to: %s, alone or beside a public address", async (address) => {
    for (const addresses of [[address], [publicAddress, address]]) {
      const { network, connected } = await outside(text(proof.text), { resolve: async () => addresses });
      expect(await findProof(proof, { network })).toMatchObject({
        isProven: false,
        file: "The domain has an address that is not public.",
      });
      expect(connected).toEqual([]);
    }
  });

  it("is resolved anew for each redirect", async () => {
    const { network, connected } = await outside(redirect("https://www.example.com/"), {
      resolve: async (host) => [host === "example.com" ? publicAddress : "127.0.0.1"],
    });
    const file = "The domain has an address that is not public.";
    expect(await findProof(proof, { network })).toMatchObject({ isProven: false, file });
    expect(connected).toEqual([publicAddress]);
  });
});
