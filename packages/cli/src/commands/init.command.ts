import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { createApiClient } from "@waymark/client";
import type { TopCommand } from "../context/command-builder.js";
import type { CommandContext, Outcome } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { readJsonFile } from "../context/json.js";
import { addServiceOptions, onService, type ServiceOptions, services } from "../context/service.js";
import { type Application, findPlaces, readApplication } from "../init/application.js";
import { addToEnvFile, type EnvFile, isIgnoredByGit, missingIn, readEnvFile } from "../init/env-file.js";
import { variablesOf } from "../init/libraries.js";
import { checkWebUrl, dataFolderOf, readLocalSystem } from "../local-system.js";
import { printable, styleOf, type TerminalStyle } from "../output/terminal-text.js";
import { dashboardLink } from "../traces/dashboard-link.js";

const help = `
It reads package.json, requirements.txt and pyproject.toml, and changes nothing but .env, after a yes. The key is that of --key,
WAYMARK_TRACE_KEY, .env or the running local system's demo; --print needs none.

Examples:
  $ waymark init
  $ waymark init --dir services/agent --yes
  $ waymark init --print --json`;

export function declareCommand(command: TopCommand): void {
  addServiceOptions(command.help(help))
    .option("--dir <folder>", "the application's folder", { default: "." })
    .option("--yes", "write .env without asking")
    .option("--print", "only show the lines: write and send nothing")
    .check(({ yes, print }) => yes && print && "--yes and --print exclude each other.")
    .run(async (context, options) => {
      const application = await readApplication(options.dir);
      const env = await readEnvFile(application.folder);
      const service = await findService(context, options, env);
      const steps = await stepsOf(application);
      const plan = {
        runtime: application.runtime,
        agent: application.name,
        install: application.install,
        libraries: application.libraries.map(({ name }) => name),
        steps,
      };
      const style = styleOf(context.stdout, context.env);
      const shown = drawPlan(application, steps, style);
      if (options.print) {
        const key = service.key ?? "wmk_trace_…";
        const lines = Object.entries(variables(application, { ...service, key })).map(
          ([name, value]) => `${name}=${value}`,
        );
        const text = [shown, `.env:\n${indent(lines.map((line) => hidden(line, service.key)))}`].join("\n\n");
        return { value: { ...plan, env: lines.map((line) => hidden(line, service.key)) }, text };
      }
      if (service.key === undefined) {
        context.stderr.write(`${shown}\n\n`);
        throw new CommandError(`A key is needed to send: give --key. ${howToGetKey}`);
      }
      return begin(
        context,
        application,
        { ...service, key: service.key },
        { env, plan, shown, isAgreed: options.yes === true },
      );
    });
}

const howToGetKey =
  "'npx waymark' runs a local system with a demo's key; 'waymark key create --service trace --scope ingest' makes one, as does the dashboard.";

/** The address and key of the options, the environment, the `.env` or the running local system, in this order. */
async function findService(
  { env }: CommandContext,
  options: ServiceOptions,
  file: EnvFile,
): Promise<{ url: string; key?: string }> {
  const { key: keyName, url: urlName, defaultUrl } = services.trace;
  const of = (given: string | undefined, name: string) => given ?? (env[name] || file.values.get(name) || undefined);
  const [key, url] = [of(options.key, keyName), of(options.url, urlName)];
  if (url !== undefined) checkWebUrl(url, `--url or ${urlName}`);
  const folder = dataFolderOf(env);
  const local = key ? undefined : await readLocalSystem(folder);
  if (!local) return { url: url ?? defaultUrl, ...(key && { key }) };
  const demo = await readJsonFile<{ keys: Record<string, { key: string }> }>(join(folder, "demo.json"));
  // The last account of the demo is the Pro one.
  const [, kept] = Object.entries(demo?.keys ?? {}).findLast(([slot]) => slot.endsWith(" trace")) ?? [];
  return { url: url ?? local.urls?.[0] ?? defaultUrl, ...(kept && { key: kept.key }) };
}

interface Step {
  title: string;
  where: string;
  lines: string[];
  /** Where the sources have such a place. */
  places: string[];
}

async function stepsOf(application: Application): Promise<Step[]> {
  const { runtime, libraries, name } = application;
  const steps: Step[] = [];
  if (libraries.some(({ way }) => way === "sdk")) {
    const agent = JSON.stringify(name);
    const lines = {
      node: ['import { createWaymark } from "@waymark/client";', `createWaymark({ agentId: ${agent} });`],
      python: ["import waymark", `client = waymark.Waymark(agent_id=${agent})`],
    };
    steps.push({ title: "Waymark", where: "once, where your program starts", lines: lines[runtime], places: [] });
  }
  for (const { name, imports, line, where = "", place } of libraries) {
    const places = await findPlaces(application, place);
    if (line === undefined) {
      steps.push({ title: name, where: "needs no line: the variables are enough", lines: [], places });
      continue;
    }
    steps.push({ title: name, where, lines: [...(imports === undefined ? [] : [imports]), line], places });
  }
  return steps;
}

function variables({ libraries }: Application, service: { url: string; key: string }): Record<string, string> {
  return Object.assign({}, ...libraries.map(({ way }) => variablesOf(way, service))) as Record<string, string>;
}

function drawPlan({ runtime, libraries, install }: Application, steps: readonly Step[], style: TerminalStyle): string {
  const found = libraries.map(({ name }) => name).join(", ");
  const start = { node: "node --env-file=.env", python: "with .env in its environment" };
  return [
    `Found ${found}, for ${runtime === "node" ? "Node" : "Python"}. Nothing in your sources is changed: add these lines.`,
    `${style.bold("Install")}, made in a clone of Waymark: the SDK is in no registry yet\n${indent([install])}`,
    ...steps.map(({ title, where, lines, places }) => {
      const at = places.length > 0 ? ` (${printable(places.join(", "))})` : "";
      return `${style.bold(title)}, ${where}${at}${lines.length > 0 ? `\n${indent(lines)}` : ""}`;
    }),
    `Start your program ${runtime === "node" ? `by ${start.node}` : start.python}.`,
  ].join("\n\n");
}

const indent = (lines: readonly string[]) => lines.map((line) => `    ${printable(line)}`).join("\n");

/** A line for a screen, which others may see. */
const hidden = (line: string, key: string | undefined) =>
  key === undefined ? line : line.replaceAll(key, `${/^wmk_[a-z]+_/.exec(key)?.[0] ?? ""}…${key.slice(-4)}`);

interface Beginning {
  env: EnvFile;
  plan: object;
  shown: string;
  isAgreed: boolean;
}

/** Writes what `.env` lacks, after a yes, and sends a run. */
async function begin(
  context: CommandContext & { isJson: boolean },
  application: Application,
  service: { url: string; key: string },
  { env, plan, shown, isAgreed }: Beginning,
): Promise<Outcome> {
  const added = missingIn(env, variables(application, service));
  if (!context.isJson) context.stdout.write(`${shown}\n\n`);
  const names = added.map(([name]) => name);
  const isWritten = names.length > 0 && (isAgreed || (await agree(context, `Add ${names.join(", ")} to ${env.path}?`)));
  if (isWritten) await addToEnvFile(env, added);
  const isIgnored = await isIgnoredByGit(application.folder, ".env");
  const { trace_id, link } = await onService(context, service, async (connected) => {
    const trace_id = await sendRun(connected, application.name, context.now());
    return { trace_id, link: await dashboardLink(connected.url, trace_id) };
  });
  const told = [
    names.length === 0
      ? `${env.path} has all it needs.`
      : `${isWritten ? "Added" : "Not added"}: ${names.join(", ")} ${isWritten ? "in" : "to"} ${env.path}.`,
    ...(isIgnored === false ? ["git does not ignore .env, and it has a key: add a line .env to .gitignore."] : []),
    `A first run has arrived: ${link}`,
  ];
  const file = { path: env.path, added: isWritten ? names : [], ignored: isIgnored ?? null };
  return { value: { ...plan, env: file, trace_id, link }, text: told.join("\n") };
}

/** @returns false without a terminal to ask on */
async function agree({ stdin, stderr, isJson }: CommandContext & { isJson: boolean }, question: string) {
  if (stdin.isTTY !== true || isJson) return false;
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}

async function sendRun(connection: { url: string; key: string }, agent: string, now: Date): Promise<string> {
  const api = createApiClient(connection);
  const started_at = now.toISOString();
  const { trace_id } = await api.createTrace({
    agent_id: agent.slice(0, 255),
    name: "First run, sent by waymark init",
    status: "success",
    started_at,
    ended_at: started_at,
  });
  const output = "Your key works. The next run comes from your program.";
  await api.addSpan(trace_id, { name: "waymark init", status: "ok", started_at, ended_at: started_at, output });
  return trace_id;
}
