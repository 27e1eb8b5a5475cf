import { type DestinationStream, type Logger, levels, pino } from "pino";

export interface LoggerOptions {
  service: string;
  /** One of pino's levels or `silent`. Any other text counts as `info`: the log opens before the configuration is checked. */
  level: string | undefined;
  process?: number | undefined;
  destination?: DestinationStream | undefined;
}

export function createLogger(options: LoggerOptions): Logger {
  const level = options.level ?? "";
  return pino(
    {
      level: level === "silent" || Object.hasOwn(levels.values, level) ? level : "info",
      base: { service: options.service, ...(options.process !== undefined && { process: options.process }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Keys stay out of the log, in any object.
      redact: {
        paths: ["*.headers.authorization", "headers.authorization", "*.authorization", "*.connectionString"],
        censor: "(hidden)",
      },
    },
    options.destination ?? standardOutput(options.process !== undefined),
  );
}

/** The bytes that a pipe takes in one piece: lines of several processes never mix. */
const sharedBytesPerWrite = 4_096;

/** Lines wait until they have this length together, because a write costs more than a line, ... */
const minBytesPerWrite = 12_288;
/** ... or until this time has passed. */
const flushIntervalMs = 100;

/**
 * Standard output, written without waiting. Pino's own flush at the end of the process is off: without a reader it tries
 * forever, and the process would never end. `runProcess` writes the rest of the log.
 */
function standardOutput(isShared: boolean): DestinationStream {
  const output = pino.destination({
    fd: 1,
    sync: false,
    periodicFlush: flushIntervalMs,
    ...(isShared
      ? { minLength: sharedBytesPerWrite / 2, maxWrite: sharedBytesPerWrite }
      : { minLength: minBytesPerWrite }),
  });
  output.flushSync = () => undefined;
  return output;
}
