// For `pnpm dev`: builds the pages, and builds them again after each change, until its parent is gone. Its output has the
// lines of an app's log.
import { build } from "vite";

const write = (line) => console.log(JSON.stringify(line));
process.on("disconnect", () => process.exit());

const watcher = await build({ build: { watch: {} }, logLevel: "silent" });
watcher.on("event", async (event) => {
  if (event.code === "ERROR")
    write({ level: "error", msg: "the pages were not built", err: { message: event.error.message } });
  if (event.code === "END" || event.code === "ERROR") process.send({ kind: "running", port: 0 });
  await event.result?.close();
});
