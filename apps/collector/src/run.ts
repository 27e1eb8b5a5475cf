import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { createKeyDirectory } from "@waymark/auth";
import { type ProcessLike, readable, startHttpService } from "@waymark/service";
import { createAddressReader, createProxyWatch } from "@waymark/service/limits";
import {
  createRecorder,
  createRequestRecorder,
  lookupOptions,
  openCountryDirectory,
} from "@waymark/web-stats/analytics";
import { createApp } from "./app.js";
import { loadConfig } from "./config.js";
import { createClientReader, loadSpamReferrers } from "./event/read-client.js";
import { joinLines } from "./script/get-script.route.js";

export function run(node: ProcessLike): Promise<void> {
  return startHttpService(node, {
    name: "collector",
    loadConfig,
    // A migration or a month's new partition may lock a table for longer than other services wait.
    pool: { lockTimeoutMs: 5_000, plansOnce: true, pipeline: true },
    async openApp({ config, pool, registry, log, siblings, stores }) {
      const { trustedProxies, countryHeader, eventsPerSecond, database } = config;
      const countries = await readable("COUNTRY_DATABASE", openCountryDirectory(config.countryDatabase));
      const proxies = createProxyWatch(log);
      const addressOf = createAddressReader(trustedProxies, proxies);
      const recorder = createRecorder({ pool });
      const keys = createKeyDirectory({ service: "trace", pool, connectionString: database.directUrl, log });
      const checks = { required: stores, notes: proxies.notes };
      const handler = createApp({
        recorder,
        recordRequests: createRequestRecorder(pool, { resolver: new Resolver(lookupOptions), fetch }),
        keys,
        readClient: createClientReader({ addressOf, trustedProxies, countryHeader, countries }),
        addressOf,
        eventsPerSecond,
        isSpam: await readable("REFERRER_SPAM_LIST", loadSpamReferrers(config.referrerSpamList)),
        tracker: { script: await readAsset("script.js"), extensions: await readAsset("extensions.js") },
        checks,
        log,
        registry,
        siblings,
      });
      return {
        handler,
        checks,
        async stop() {
          await recorder.drain();
          await keys.stop();
        },
      };
    },
  });
}

async function readAsset(name: string): Promise<string> {
  return joinLines(await readFile(new URL(`../assets/${name}`, import.meta.url), "utf8"));
}
