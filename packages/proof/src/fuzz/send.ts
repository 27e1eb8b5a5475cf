import { Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http";

export interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** So slow that a busy machine does not explain it. */
const longestMs = 60_000;
const maxAnswerBytes = 64 * 1_048_576;

const sharedAgent = new Agent({ keepAlive: true, maxSockets: 64 });

/**
 * Sends a request as it stands: a broken path stays broken. Reads an endless stream until its headers alone.
 * @throws Error for a request without an answer
 */
export function send(
  { url, method, headers, body }: Sent,
  { agent = sharedAgent, hangMs = longestMs } = {},
): Promise<Received> {
  const { hostname, port, origin } = new URL(url);
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
    const path = url.slice(origin.length);
    const sending = httpRequest({ hostname, port, path, method, agent, headers: { ...headers, ...length } });
    const timer = setTimeout(() => sending.destroy(new Error(`no whole answer within ${hangMs / 1_000} s`)), hangMs);
    const settle = () => clearTimeout(timer);
    sending.on("error", (error) => {
      settle();
      reject(error);
    });
    sending.on("response", (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const finish = () => {
        settle();
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        });
      };
      if (response.headers["content-type"]?.startsWith("text/event-stream")) {
        finish();
        response.on("error", () => undefined);
        return void sending.destroy();
      }
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > maxAnswerBytes) sending.destroy(new Error(`an answer of more than ${maxAnswerBytes} bytes`));
      });
      response.on("end", finish);
      response.on("error", reject);
    });
    sending.end(body);
  });
}

const variables: Readonly<Record<string, string>> = {
  authorization: "Authorization: Bearer $KEY",
  cookie: "Cookie: $COOKIE",
};

/** A command that repeats a request, with the address, the key and the session as variables. */
export function curlOf({ url, method, headers, body }: Sent): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const given = Object.entries(headers).map(([name, value]) => {
    const variable = variables[name.toLowerCase()];
    return variable ? `-H "${variable}"` : `-H ${quote(`${name}: ${value}`)}`;
  });
  const { origin } = new URL(url);
  const command = `curl -i --path-as-is -X ${method} "$URL"${quote(url.slice(origin.length))} ${given.join(" ")}`;
  if (body === undefined) return command;
  const text = body.toString();
  if (/^[\x20-\x7e]*$/.test(text)) return `${command} --data-binary ${quote(text)}`;
  return `printf %s ${Buffer.from(body).toString("base64")} | base64 -d | ${command} --data-binary @-`;
}
