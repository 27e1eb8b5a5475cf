import { createSignInLink } from "@waymark/accounts/identity/links";
import { resolveAccount } from "../arguments/resolve-owner.js";
import { emailAddress } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { onDatabase } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { findPublicUrl } from "../local-system.js";

const defaultUrl = "http://localhost:4000";

const help = `
The link works once, for 15 minutes, after a click on its page. An account without people gets its first owner. The link
begins with DASHBOARD_URL.

Example:
  $ waymark sign-in-link --account me@example.com`;

export function declareCommand(command: TopCommand): void {
  command
    .help(help)
    .required("--account <account>", "the account's id or address")
    .option("--email <address>", "the person; the account's first owner without it", { parse: emailAddress })
    .run(async (context, { account: text, email }) => {
      const source = "DASHBOARD_URL";
      const found = await findPublicUrl(context.env, { url: context.env[source], source, part: "dashboardUrl" });
      const dashboardUrl = found ?? defaultUrl;
      const link = await onDatabase(context, async ({ pool, prisma }) => {
        const account = await resolveAccount(prisma, text);
        return createSignInLink({ pool, account, dashboardUrl, now: context.now(), ...(email && { email }) });
      });
      if (!link) throw new CommandError(`The account has people, and none with the address '${email ?? ""}'.`);
      const value = { url: link.url, email: link.email, expires_at: link.expiresAt.toISOString() };
      return { value, text: `${link.url}\n\nSigns in ${link.email} once, until ${value.expires_at}.` };
    });
}
