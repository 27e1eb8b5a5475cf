import { type DestinationStream, type Logger, levels, pino } from "pino";

export interface LoggerOptions {
  /** Names the process in every line. */
  service: string;
  /** A level of pino's or `silent`; anything else counts as `info`, since the configuration is checked after the log opens. */
  level: string | undefined;
  destination?: DestinationStream;
}

/** JSON lines on standard output, one object each, with ISO times. */
export function createLogger(options: LoggerOptions): Logger {
  const level = options.level ?? "";
  return pino(
    {
      level: level === "silent" || Object.hasOwn(levels.values, level) ? level : "info",
      base: { service: options.service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // A key never belongs into a log, whichever object brings it along.
      redact: {
        paths: ["*.headers.authorization", "headers.authorization", "*.authorization", "*.connectionString"],
        censor: "(hidden)",
      },
    },
    options.destination ?? standardOutput(),
  );
}

/** Lines go out together when they are this long, since a write of its own for each costs more than the line... */
const minBytesPerWrite = 4_096;
/** ... and at the latest after this time. */
const flushIntervalMs = 100;

/**
 * Standard output, written to without waiting. What pino does with the rest of the log while the process ends is switched
 * off: where the reader of our output is gone it tries to write for ever, and the process would never end. `runProcess`
 * writes the rest before it ends.
 */
function standardOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: false, minLength: minBytesPerWrite, periodicFlush: flushIntervalMs });
  output.flushSync = () => undefined;
  return output;
}
