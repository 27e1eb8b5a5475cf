import { randomBytes } from "node:crypto";
import { readSettingsFile, type SettingsFile } from "./settings-file.js";

const roles = ["trace-api", "analytics-api", "collector", "worker", "dashboard"] as const;
const passwordOf = (role: string) => `${role.toUpperCase().replaceAll("-", "_")}_DB_PASSWORD`;

/** The answers, and what their files have instead. */
export interface Wishes {
  domain: string;
  certificatesMail: string;
  /** Variables of mail. */
  mail: Readonly<Record<string, string>>;
}

type Wanted = readonly (readonly [SettingsFile, Readonly<Record<string, string>>])[];

/** What Compose reads, in one file. */
export async function readComposeFiles(folder: string) {
  const env = await readSettingsFile(folder, ".env", ".env.example");
  const names = ["POSTGRES_PASSWORD", "REDIS_PASSWORD", ...roles.map(passwordOf)];
  const domains = ["TRACE_API_DOMAIN", "ANALYTICS_API_DOMAIN", "COLLECTOR_DOMAIN", "DASHBOARD_DOMAIN"];
  return {
    has: {
      domain: domains.every((name) => env.values.has(name)) ? env.values.get("DASHBOARD_DOMAIN") : undefined,
      certificatesMail: env.values.get("ACME_EMAIL"),
      isMailKnown: hasMail(env),
    },
    want({ domain, certificatesMail, mail }: Wishes): Wanted {
      const [traces, stats, collect, waymark] = hostsOf(domain);
      const passwords = Object.fromEntries(names.map((name) => [name, newPassword()]));
      const overlay = { COMPOSE_FILE: "compose.yaml:compose.production.yaml", ACME_EMAIL: certificatesMail };
      const hosts = [traces, stats, collect, waymark].map((host, at) => [domains[at], host]);
      return [[env, { ...passwords, ...overlay, ...Object.fromEntries(hosts), ...mail }]];
    },
  };
}

/** What the units of systemd read: each app has the password of its own role alone. */
export async function readSystemdFiles(folder: string) {
  const read = (name: string) => readSettingsFile(folder, `${name}.env`);
  const [migrate, common] = [await read("migrate"), await read("common")];
  const apps = await Promise.all(roles.map(async (role) => ({ role, file: await read(role) })));
  const dashboardUrl = common.values.get("DASHBOARD_URL");
  const worker = apps.find(({ role }) => role === "worker")?.file;
  return {
    has: {
      domain:
        dashboardUrl && URL.canParse(dashboardUrl)
          ? new URL(dashboardUrl).hostname.replace(/^waymark\./, "")
          : undefined,
      // certbot asks for it.
      certificatesMail: "",
      isMailKnown: worker !== undefined && hasMail(worker),
    },
    want({ domain, mail }: Wishes): Wanted {
      const [traces, stats, collect, waymark] = hostsOf(domain);
      const urls = { TRACE_API_URL: traces, ANALYTICS_API_URL: stats, COLLECTOR_URL: collect };
      const web = Object.fromEntries(Object.entries(urls).map(([name, host]) => [name, `https://${host}`]));
      const behindProxy = { TRUSTED_PROXIES: "loopback" };
      const own: Record<string, Record<string, string>> = {
        collector: behindProxy,
        worker: { ...mail },
        dashboard: { ...behindProxy, ...web, ...mail },
      };
      const passwords = Object.fromEntries(
        roles.map((role) => [passwordOf(role), migrate.values.get(passwordOf(role)) ?? newPassword()]),
      );
      const ownerUrl = migrate.values.get("DATABASE_URL") ?? urlOf("waymark", newPassword());
      return [
        [migrate, { DATABASE_URL: ownerUrl, ...passwords }],
        [common, { DASHBOARD_URL: `https://${waymark}` }],
        ...apps.map(({ role, file }) => {
          const name = `waymark_${role.replaceAll("-", "_")}`;
          return [file, { DATABASE_URL: urlOf(name, passwords[passwordOf(role)] ?? ""), ...own[role] }] as const;
        }),
      ];
    },
  };
}

const hasMail = ({ values }: SettingsFile) => ["RESEND_API_KEY", "SMTP_URL"].some((name) => values.has(name));
const newPassword = () => randomBytes(24).toString("hex");
const urlOf = (role: string, password: string) => `postgres://${role}:${password}@127.0.0.1:5432/waymark`;
const hostsOf = (domain: string) => ["traces", "stats", "collect", "waymark"].map((part) => `${part}.${domain}`);
