import { spawn } from "node:child_process";
import type { TopCommand } from "../context/command-builder.js";
import { addServiceOptions, onService } from "../context/service.js";
import { printable } from "../output/terminal-text.js";
import { dashboardLink } from "../traces/dashboard-link.js";
import { findTraceId } from "../traces/trace-id.js";

const help = `
Examples:
  $ waymark open 0c07398f
  $ waymark open 0c07398f --print`;

export function declareCommand(command: TopCommand): void {
  addServiceOptions(command.help(help))
    .argument("<trace-id>", "the trace's id, or at least 4 characters of its end or beginning")
    .option("--print", "only print it")
    .run((context, text, { print, ...options }) =>
      onService(context, options, async ({ api, url }) => {
        const link = printable(await dashboardLink(url, await findTraceId(api, text)));
        if (!print && context.stdout.isTTY === true) openInBrowser(link);
        return { value: { url: link }, text: link };
      }),
    );
}

/** By the system's own program; without one the printed address is enough. Only a URL of the web reaches it. */
function openInBrowser(link: string): void {
  if (!/^https?:\/\//.test(link)) return;
  const windows = ["rundll32", "url.dll,FileProtocolHandler"];
  const programs: Partial<Record<NodeJS.Platform, string[]>> = { darwin: ["open"], win32: windows };
  const [program = "", ...args] = programs[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...args, link], { detached: true, stdio: "ignore" });
  child.on("error", () => undefined).unref();
}
