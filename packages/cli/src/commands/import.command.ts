import { resolve } from "node:path";
import { setFlagsFromString } from "node:v8";
import type { Site } from "@waymark/accounts";
import {
  exportNames,
  followLog,
  formatNames,
  type ImportProgress,
  importEvents,
  importRollups,
  isLog,
  lookupOptions,
  noProgress,
  openCountryDirectory,
} from "@waymark/web-stats/analytics";
import { storeDays } from "@waymark/web-stats/statistics";
import { resolveSite } from "../arguments/resolve-owner.js";
import type { CommandBuilder, TopCommand } from "../context/command-builder.js";
import {
  type CommandContext,
  type CommandDatabase,
  interruptedExitCode,
  type Outcome,
  onDatabase,
  untilInterrupted,
  withStatus,
} from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { findFile, openImportInput } from "../imports/import-input.js";
import { openRejectionReport, type RejectionReport } from "../imports/rejections.js";
import { readZip } from "../imports/zip-file.js";
import { showProgress } from "../output/progress.js";
import { formatCount } from "../output/terminal-text.js";

/** V8 lets the old generation quadruple between collections; doubled, it takes a quarter less memory at the same speed. */
const gentleGrowth = "--heap-growing-percent=100";

/** For a file without one good line, which is probably of another kind. */
const failedExitCode = 1;

const help = `
Formats, guessed from the first lines without --format:
  ndjson       a JSON object a line, as 'waymark export' writes it
  combined     access logs of nginx and Apache with referrer and browser
  common       access logs without them; visitors are told apart by address alone
  caddy-json   access logs of Caddy in JSON
  nginx-json   access logs of nginx by the log_format below
  cloudfront   standard logs of CloudFront

Fields of a line of ndjson:
  ts               the time, ISO 8601 with Z or an offset; required
  type             pageview (default) or event
  path, url        a page view needs one of them; the url's query has the UTM and click ids
  referrer         the address the visitor came from
  country          a code of two letters, such as DE; the default is the country of ip
  visitor          your own name for the visitor; the default is a hash of the next two
  ip, user_agent   hashed to tell visitors apart, never stored
  browser, os      names to count, also device; the default is of user_agent
  name, props      an event's name, and an object of properties
Lines from 'waymark export' also have an id, a channel and other results, and import takes them unchanged.

Page views of a log are GET requests with status 200 to 299 or 304, without assets such as .css, .png and .json. The rest is
left out and counted by its reason: method, status, asset, bot (with --drop-bots) and malformed. A malformed line is rejected.
Requests of machines, whatever their status, count apart from visits; with --drop-bots they are left out too, and with
--machines-only all others are.

The log_format of nginx-json:
  log_format waymark escape=json '{"time_iso8601":"$time_iso8601","remote_addr":"$remote_addr",'
    '"request_method":"$request_method","scheme":"$scheme","host":"$host","request_uri":"$request_uri",'
    '"status":"$status","http_referer":"$http_referer","http_user_agent":"$http_user_agent"}';

Exports of other tools, with --from:
  plausible    the zip archive of its CSV export: figures by day, not events
  umami        website_event.csv of its data export, or the zip with it; its sessions are the visitors
  goatcounter  the CSV export, of version 1 or 2; its sessions are the visitors

Plausible's days enter the statistics as they are; a day with figures stays as it is. Counts are of days. No events stand
behind them, so 'waymark rollup rebuild' leaves these days alone. They are days of the time zone that Plausible was set to.

--follow goes on for ever: through logs that a rotation renames or copies, through restarts and kills, each line once. It keeps its
place in the database. A file that the rotation packs at once is lost where nobody follows: use delaycompress.

A file may be compressed by gzip. Importing one twice counts it once. Identical lines in one file are separate events. After a
stop, the same command goes on. The exit code is 0 when some lines were rejected, and 1 when all of them were.

Examples:
  $ waymark import --site example.com --file visits.ndjson --drop-bots
  $ waymark import --site example.com --file access.log --format combined --drop-bots
  $ waymark import --site example.com --file access_log --format common
  $ waymark import --site example.com --file caddy.log --format caddy-json
  $ waymark import --site example.com --file waymark.log --format nginx-json
  $ cat E2EXAMPLE.*.gz | waymark import --site example.com --file - --format cloudfront
  $ waymark import --site example.com --file example_com_20260517.zip --from plausible
  $ waymark import --site example.com --file website_event.csv --from umami
  $ waymark import --site example.com --file goatcounter-export.csv.gz --from goatcounter --drop-bots
  $ waymark import --site example.com --follow /var/log/nginx/waymark.log --format nginx-json --machines-only
  $ zcat access.log.*.gz | waymark import --site example.com --file - --json`;

export function declareCommand(command: TopCommand): void {
  declare(command).run((context, options) =>
    onDatabase(context, async ({ pool }) => {
      setFlagsFromString(gentleGrowth);
      if ((options.file === undefined) === (options.follow === undefined))
        throw new CommandError("Give one of --file and --follow.");
      const target = { pool, site: await resolveSite(pool, options.site) };
      if (options.follow !== undefined) return follow(context, target, { ...options, follow: options.follow });
      return options.from === "plausible"
        ? importPlausible(context, target, options)
        : importLines(context, target, options);
    }),
  );
}

function declare(command: TopCommand) {
  return command
    .help(help)
    .required("--site <site>", "their site, by id or domain")
    .option("--file <file>", "the file, or - for standard input")
    .option("--follow <file>", "record a growing log for ever, through its rotations; it needs --format", {
      conflicts: "from",
    })
    .option("--format <format>", "the form of the lines, instead of a guess", { choices: formatNames })
    .option("--from <tool>", "read the export of another tool", {
      choices: ["plausible", ...exportNames] as const,
      conflicts: "format",
    })
    .option("--drop-bots", "leave out lines with a bot's user_agent, in place of counting its requests")
    .option("--machines-only", "count requests of machines alone, of a site whose pages carry the tracker")
    .option("--rejects <file>", "write the number and problem of every rejected line to this file, as JSON lines");
}

type ImportOptions = ReturnType<typeof declare> extends CommandBuilder<[], infer Options> ? Options : never;

interface Target {
  readonly pool: CommandDatabase["pool"];
  readonly site: Site;
}

async function importLines(context: CommandContext, { pool, site }: Target, options: ImportOptions): Promise<Outcome> {
  const resolver = context.createResolver?.(lookupOptions);
  const { file = "-", from, rejects, dropBots = false, machinesOnly = false } = options;
  const format = from === "plausible" ? undefined : (from ?? options.format);
  if (file === "-" && context.stdin.isTTY) context.stderr.write("Reading from the terminal; Ctrl-D ends it.\n");
  const input = await openImportInput(file, context.stdin, from === "umami" ? "website_event.csv" : undefined);
  const countries = await checkCountries(context.env["COUNTRY_DATABASE"]);
  const watched = { rejects, totalBytes: input.totalBytes, start: noProgress(format) };
  const how = { countries, dropBots, machinesOnly, resolver };
  const { isComplete, last } = await watch(context, watched, (control) =>
    importEvents({ pool, site, input: input.bytes, ...(format && { format }), ...how, ...control }),
  );
  if (isComplete && last.imported > 0) await prepareFilters(context, { pool, site });
  return conclude(context, { isComplete, unit: "line", ...describe(last, dropBots) });
}

/** Records a log until Ctrl-C or SIGTERM; an error ends it, and the next start goes on at the same place. */
async function follow(
  context: CommandContext,
  { pool, site }: Target,
  options: ImportOptions & { follow: string },
): Promise<Outcome> {
  const { format, rejects, dropBots = false, machinesOnly = false } = options;
  const resolver = context.createResolver?.(lookupOptions);
  if (!format || format === "ndjson") throw new CommandError("--follow needs the --format of a web server's log.");
  const countries = await checkCountries(context.env["COUNTRY_DATABASE"]);
  const how = { path: resolve(options.follow), format, countries, dropBots, machinesOnly, resolver };
  const { last } = await watch(context, { rejects, start: noProgress(format) }, (control) =>
    followLog({ pool, site, ...how, ...control }),
  );
  const { value, text } = describe(last, dropBots);
  return { value, text: `Stopped: ${text}. The next start goes on here.` };
}

/** Records the daily figures of Plausible's export. Its counts are of days, but those of records that were rejected. */
async function importPlausible(
  context: CommandContext,
  { pool, site }: Target,
  { file = "-", rejects }: ImportOptions,
): Promise<Outcome> {
  if (file === "-") throw new CommandError("An export of Plausible is a zip archive: --file wants a file.");
  await findFile(file);
  const files = await readZip(file);
  if (!files.some(({ name }) => /(?:^|\/)imported_visitors[^/]*\.csv$/.test(name))) {
    throw new CommandError(`'${file}' has no file imported_visitors….csv, so it is no export of Plausible.`);
  }
  const start = { lines: 0, bytes: 0, imported: 0, rejected: 0, duplicates: 0 };
  const { isComplete, last } = await watch(context, { rejects, start }, (control) =>
    importRollups({ pool, site, files, ...control }),
  );
  const { imported, rejected, duplicates } = last;
  const text = [
    `${formatCount(imported)} days imported`,
    `${formatCount(rejected)} records rejected`,
    `${formatCount(duplicates)} days with figures already`,
  ].join(", ");
  const value = { imported, rejected, duplicates };
  return conclude(context, { isComplete, unit: "record", value, text, others: imported + duplicates });
}

interface Watched<Progress> {
  readonly rejects: string | undefined;
  readonly totalBytes?: number | undefined;
  readonly start: Readonly<Progress>;
}

interface Control<Progress> {
  readonly signal: AbortSignal;
  onReject: RejectionReport["add"];
  onProgress(progress: Readonly<Progress>): void;
}

/** Shows an import's progress and reports its rejections, until it ends or Ctrl-C stops it. */
async function watch<Progress extends { lines: number; bytes: number }>(
  context: CommandContext,
  { rejects, totalBytes, start }: Watched<Progress>,
  work: (control: Control<Progress>) => Promise<unknown>,
) {
  const rejections = await openRejectionReport(rejects);
  const display = showProgress(context.stderr, "Importing", totalBytes);
  let last = start;
  const onProgress = (progress: Readonly<Progress>) => {
    last = progress;
    display.update(progress);
  };
  try {
    const { isComplete } = await untilInterrupted(context, display, (signal) =>
      work({ signal, onReject: rejections.add, onProgress }),
    );
    return { isComplete, last };
  } finally {
    await rejections.finish(context.stderr);
  }
}

/** Stores the imported days for filters at once; the worker would do it within ten minutes. A stop leaves the rest to it. */
async function prepareFilters(context: CommandContext, { pool, site }: Target): Promise<void> {
  await withStatus(context, (say, signal) => {
    const before = context.now().toISOString().slice(0, 10);
    const onDay = ({ day }: { day: string }) => say(`Preparing filters: ${day}`);
    return storeDays(pool, { siteIds: [site.id], before, onDay, isStopping: () => signal.aborted });
  });
}

/** The collector's country database: the variable's, else the one that comes with Waymark. */
async function checkCountries(file: string | undefined) {
  try {
    await openCountryDirectory(file || undefined);
    return { file: file || undefined };
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).name;
    if (!file) {
      // The npm package leaves the database out: it is as large as everything else together.
      throw new CommandError("There is no country database here. Set COUNTRY_DATABASE to an .mmdb file.", {
        cause: error,
      });
    }
    throw new CommandError(`COUNTRY_DATABASE names a file that cannot be read (${reason}).`, { cause: error });
  }
}

/** The counts of an import as a value and in words; `others` are all lines but rejected ones. */
function describe(progress: Readonly<ImportProgress>, dropBots: boolean) {
  const { format, imported, rejected, duplicates, bots, machines, leftOut, malformed } = progress;
  const ofMachines = dropBots ? {} : { machines };
  const ofLog = isLog(format)
    ? { format, ...leftOut, ...(dropBots && { bot: bots }), malformed }
    : dropBots && { bots };
  const reasons = [
    ...(isLog(format) ? Object.entries(leftOut).map(([reason, n]) => `${formatCount(n)} by ${reason}`) : []),
    ...(dropBots ? [`${formatCount(bots)} of bots`] : []),
  ].join(", ");
  const counts = [
    `${formatCount(imported)} imported`,
    ...(dropBots ? [] : [`${formatCount(machines)} of machines`]),
    `${formatCount(rejected)} rejected`,
    `${formatCount(duplicates)} there already`,
  ].join(", ");
  return {
    value: { imported, ...ofMachines, rejected, duplicates, ...ofLog },
    text: reasons === "" ? counts : `${counts}; left out: ${reasons}`,
    others: imported + duplicates + machines + bots + leftOut.method + leftOut.status + leftOut.asset,
    read: isLog(format) ? ` (${format})` : "",
  };
}

interface Conclusion {
  isComplete: boolean;
  unit: "line" | "record";
  value: { rejected: number };
  text: string;
  others: number;
  read?: string;
}

function conclude(
  { stderr }: CommandContext,
  { isComplete, unit, value, text, others, read = "" }: Conclusion,
): Outcome {
  if (!isComplete) {
    stderr.write("Stopped. What was imported stays; run the same command again to go on.\n");
    return { value, text: `Until then: ${text}.`, exitCode: interruptedExitCode };
  }
  const isAllRejected = value.rejected > 0 && others === 0;
  if (isAllRejected) stderr.write(`Every ${unit} was rejected, so nothing was imported.\n`);
  return { value, text: `Done${read}: ${text}.`, exitCode: isAllRejected ? failedExitCode : 0 };
}
