import { createSessions } from "@waymark/identity";
import { startHttpService } from "@waymark/service";
import { createApp } from "./app.js";
import { loadConfig } from "./config.js";
import { readPages } from "./pages/pages.js";

await startHttpService(process, {
  name: "dashboard",
  loadConfig,
  openApp({ config, pool, registry, log, checkDatabase }) {
    const checks = { required: { database: checkDatabase } };
    const pages = readPages(new URL("../dist/web/", import.meta.url));
    const now = () => new Date();
    const { url, operators, database } = config;
    const sessions = createSessions({ url, operators, pool, connectionString: database.url, log, now });
    return {
      handler: createApp({ config, pool, sessions, pages, checks, log, registry, now }),
      checks,
      stop: () => sessions.stop(),
    };
  },
});
