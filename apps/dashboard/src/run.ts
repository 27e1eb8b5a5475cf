import { createPasswords, createSessions } from "@waymark/accounts/identity";
import { openMailer } from "@waymark/alerts/mail";
import { createKeyDirectory } from "@waymark/auth";
import { type ProcessLike, startHttpService } from "@waymark/service";
import { createRefusals } from "@waymark/service/http";
import {
  createAddressReader,
  createLimiter,
  createProxyWatch,
  type Limit,
  type Limiter,
} from "@waymark/service/limits";
import { createApp } from "./app.js";
import { openPayments } from "./billing/payments.js";
import { loadConfig } from "./config.js";
import { readPages } from "./pages/pages.js";
import { createAccountMails } from "./session/account-mails.js";
import { createGuesses } from "./session/guesses.js";
import { createOtherCells } from "./session/other-cells.js";
import { createProofNetwork } from "./sites/find-proof.js";
import { proofLimit } from "./sites/sites.route.js";

export function run(node: ProcessLike): Promise<void> {
  return startHttpService(node, {
    name: "dashboard",
    loadConfig,
    async openApp({ config, pool, registry, log, siblings, stores }) {
      const pages = readPages(new URL("../dist/web/", import.meta.url));
      const now = () => new Date();
      const { url, operators, database, redisUrl, slots } = config;
      const sessions = createSessions({ url, operators, pool, connectionString: database.directUrl, slots, log, now });
      const links = createKeyDirectory({ service: "link", pool, connectionString: database.directUrl, slots, log });
      const limiters: Limiter[] = [];
      const openLimiter = (limit: Limit) => {
        const limiter = createLimiter({ ...limit, redisUrl, pool, log });
        limiters.push(limiter);
        return limiter;
      };
      const proxies = createProxyWatch(log);
      const addressOf = createAddressReader(config.trustedProxies, proxies);
      const guesses = createGuesses({ openLimiter, addressOf });
      const otherCells = createOtherCells({ urls: config.cellDashboards, addressOf });
      const proofs = { limiter: openLimiter(proofLimit), network: createProofNetwork() };
      const mails = createAccountMails({ mailer: await openMailer(config.mail, log), openLimiter, log });
      const bridged = redisUrl === undefined ? {} : { redis: () => proofs.limiter.check() };
      const checks = { required: stores, bridged, notes: proxies.notes };
      const passwords = createPasswords({ refusals: createRefusals(registry) });
      const identity = { sessions, links, passwords, guesses, mails, proofs, otherCells };
      const payments = await openPayments(config);
      return {
        handler: createApp({ config, pool, ...identity, payments, pages, checks, log, registry, siblings, now }),
        checks,
        async stop() {
          await mails.idle();
          await Promise.all([sessions.stop(), links.stop()]);
          await Promise.all(limiters.map((limiter) => limiter.close()));
        },
      };
    },
  });
}
