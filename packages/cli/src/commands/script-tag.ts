import { addressOf } from "@waymark/auth";
import { CommandError } from "../context/command-error.js";
import { dataFolderOf, readLocalSystem } from "../local-system.js";

/** Used when nothing names a collector. */
const placeholderUrl = "https://collector.example.com";

/**
 * The collector's public URL.
 * @param url of the option; the default is `COLLECTOR_URL`, then the running local system's collector, then a placeholder
 * @throws CommandError when it is not an HTTP URL
 */
export async function findCollectorUrl(env: NodeJS.ProcessEnv, url = env["COLLECTOR_URL"]): Promise<string> {
  if (url && !(/^https?:\/\//.test(url) && URL.canParse(url))) {
    throw new CommandError("--collector or COLLECTOR_URL must be a URL that starts with http:// or https://.");
  }
  return url || (await localCollectorUrl(env)) || placeholderUrl;
}

/** The tag for the pages of a site. @param slot of its account */
export function scriptTag(collectorUrl: string, { domain, slot }: { domain: string; slot: string }): string {
  const { href } = new URL(addressOf(collectorUrl, slot));
  return `<script defer src="${href.replace(/\/+$/, "")}/js/script.js" data-domain="${domain}"></script>`;
}

/** Without `DATABASE_URL` commands work on the local system. */
async function localCollectorUrl(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (env["DATABASE_URL"]) return undefined;
  const local = await readLocalSystem(dataFolderOf(env));
  return local?.collectorUrl;
}
