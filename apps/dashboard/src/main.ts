import { createPasswords, createSessions } from "@waymark/identity";
import { createAddressReader, createLimiter } from "@waymark/limits";
import { openMailer } from "@waymark/mail";
import { startHttpService } from "@waymark/service";
import { createApp } from "./app.js";
import { openPayments } from "./billing/payments.js";
import { loadConfig } from "./config.js";
import { readPages } from "./pages/pages.js";
import { createAccountMails } from "./session/account-mails.js";
import { createGuesses, emailLimit, networkLimit } from "./session/guesses.js";
import { createProofNetwork } from "./sites/proof-network.js";
import { proofLimit } from "./sites/prove-site.route.js";

await startHttpService(process, {
  name: "dashboard",
  loadConfig,
  async openApp({ config, pool, registry, log, checkDatabase }) {
    const pages = readPages(new URL("../dist/web/", import.meta.url));
    const now = () => new Date();
    const { url, operators, database, redisUrl } = config;
    const sessions = createSessions({ url, operators, pool, connectionString: database.url, log, now });
    const limiterOf = (limit: typeof emailLimit) => createLimiter({ ...limit, redisUrl, pool, log });
    const [perEmail, perNetwork] = [limiterOf(emailLimit), limiterOf(networkLimit)];
    const guesses = createGuesses({ perEmail, perNetwork, addressOf: createAddressReader(config.trustedProxies) });
    const proofLimiter = limiterOf(proofLimit);
    const proofs = { limiter: proofLimiter, network: createProofNetwork() };
    const mails = createAccountMails({ mailer: await openMailer(config.mail, log), log });
    const bridged = redisUrl === undefined ? {} : { redis: () => perEmail.check() };
    const checks = { required: { database: checkDatabase }, bridged };
    const identity = { sessions, passwords: createPasswords(), guesses, mails, proofs };
    const payments = await openPayments(config);
    return {
      handler: createApp({ config, pool, ...identity, payments, pages, checks, log, registry, now }),
      checks,
      async stop() {
        await mails.idle();
        await sessions.stop();
        await Promise.all([perEmail.close(), perNetwork.close(), proofLimiter.close()]);
      },
    };
  },
});
