import type { Shared, TopCommand } from "../context/command-builder.js";
import { type CommandContext, interruptedExitCode, type Outcome } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { addServiceOptions, services as known, type ServiceOptions, serviceOf } from "../context/service.js";
import type { ToolService } from "../mcp/mcp-bridge.js";
import { printable } from "../output/terminal-text.js";

interface McpOptions extends ServiceOptions {
  statsKey?: string;
  statsUrl?: string;
}

const serviceNames = ["trace", "analytics"] as const;

const help = `
A client starts it and talks to it over standard input and output. In the client's settings:
  {"mcpServers": {"waymark": {"command": "waymark", "args": ["mcp"], "env": {"WAYMARK_TRACE_KEY": "wmk_trace_…"}}}}`;

export function declareCommand(command: TopCommand, { version }: Shared): void {
  addServiceOptions(command.help(help))
    .option(
      "--stats-key <key>",
      "a key of the analytics service (default: WAYMARK_STATS_KEY, which other users cannot see)",
    )
    .option(
      "--stats-url <url>",
      `the analytics API's address (default: WAYMARK_STATS_URL or ${known.analytics.defaultUrl})`,
    )
    .run((context, options) => serve(context, options, version));
}

async function serve(context: CommandContext, options: McpOptions, version: string): Promise<Outcome> {
  const { stdin, stdout } = context;
  const services = servicesOf(context.env, options);
  const signal = context.catchInterrupts();
  const note = (text: string) => void context.stderr.write(`${printable(text)}\n`);
  if (options.key ?? options.statsKey) {
    note("Every user of this machine sees keys in arguments. Set WAYMARK_TRACE_KEY and WAYMARK_STATS_KEY instead.");
  }
  // Other commands start without it.
  const { bridgeTools } = await import("../mcp/mcp-bridge.js");
  await bridgeTools({ services, stdin, stdout, version, signal, note });
  return signal.aborted ? { exitCode: interruptedExitCode } : {};
}

function servicesOf(env: NodeJS.ProcessEnv, options: McpOptions): ToolService[] {
  const given = {
    trace: { key: options.key, url: options.url },
    analytics: { key: options.statsKey, url: options.statsUrl },
  };
  const asked = serviceNames.filter((name) => given[name].key ?? env[known[name].key]);
  const services = asked.map((name) => ({ ...serviceOf(env, given[name], name), name: `${name} API` }));
  if (services.length > 0) return services;
  throw new CommandError(
    "A key is needed: set WAYMARK_TRACE_KEY, WAYMARK_STATS_KEY or both. 'waymark key create --service trace' makes one.",
  );
}
