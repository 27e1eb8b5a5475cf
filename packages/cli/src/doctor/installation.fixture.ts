import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { createCommandLine } from "../command-line.fixture.js";

interface Found {
  check: string;
  state: string;
  says: string;
  cure?: string;
}

/** Makes a function that says what the doctor finds, by check. */
export function createExaminer(database: { readonly url: string }) {
  return async (env: NodeJS.ProcessEnv = {}, args: readonly string[] = [], now?: () => Date) => {
    const cli = createCommandLine({ DATABASE_URL: database.url, ...env }, now);
    const { code, stdout, stderr } = await cli.run(["doctor", "--operator", "--json", ...args]);
    expect(stderr).toBe("");
    const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Found[] };
    expect(code).toBe(ok ? 0 : 1);
    return Object.fromEntries(checks.map(({ check, ...found }) => [check, found]));
  };
}

/** Writes a file of settings, with an example beside it. */
export async function writeSettings(lines: Readonly<Record<string, string>>, mode = 0o600): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "waymark-settings-"));
  const known = "POSTGRES_PASSWORD=\nREDIS_PASSWORD=\n#RESEND_API_KEY=\n# ALERT_FROM= SMTP_URL= TRUSTED_PROXIES=\n";
  await writeFile(join(folder, ".env.example"), known);
  const text = Object.entries(lines).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(folder, ".env"), text.join(""));
  await chmod(join(folder, ".env"), mode);
  return join(folder, ".env");
}
