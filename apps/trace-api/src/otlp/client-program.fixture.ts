import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const appFolder = fileURLToPath(new URL("../..", import.meta.url));
/** Three programs take a second; a retry takes two or three more. */
const timeoutMs = 20_000;

/** The settings of a program in `clients`; its SDKs read them from the environment. */
export interface ClientOptions {
  /** The file and its arguments. */
  program: readonly string[];
  /** The address of the trace service, or of a proxy before it. */
  endpoint: string;
  key: string;
  /** The address of the model's API. */
  modelUrl: string;
  env?: Readonly<Record<string, string>>;
}

/**
 * Runs a client program to its end, as a process of its own since the SDKs change modules for good. It may reach this
 * machine only.
 * @returns its output on both streams: empty on success
 */
export async function runClient({ program: [file = "", ...args], endpoint, key, modelUrl, env }: ClientOptions) {
  const flags = ["--import", "@waymark/testing/refuse-network"];
  const child = spawn(process.execPath, [...flags, `clients/${file}`, ...args], {
    cwd: appFolder,
    timeout: timeoutMs,
    env: {
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: modelUrl,
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${key}`,
      TRACELOOP_BASE_URL: endpoint,
      TRACELOOP_API_KEY: key,
      ...env,
    },
  });
  const [said, warned, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  return `${said}${warned}${code === 0 ? "" : `ended with ${code ?? signal}`}`;
}
