/** Seconds from 1970 to 2000, the beginning of Postgres's times. */
const epochSeconds = 946_684_800;
const daySeconds = 86_400;

const twoDigits = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, "0"));
const threeDigits = Array.from({ length: 1_000 }, (_, n) => String(n).padStart(3, "0"));

/** The last day and second written: the times of a trace are near each other. */
let lastDay = Number.NaN;
let lastDate = "";
let lastSecond = Number.NaN;
let lastText = "";

/**
 * The time at an offset as answers show it, like `isoText`; null for `-infinity`, which stands for none.
 * @param times as `timestamptz_send` writes them: microseconds in 64 bits
 */
export function microsecondText(times: Buffer, offset: number): string | null {
  const high = times.readInt32BE(offset);
  const low = times.readUInt32BE(offset + 4);
  if (high === -0x8000_0000) return null;
  // Before 1715 and after 2285 a double would lose microseconds.
  const isExact = high >= -0x20_0000 && high < 0x20_0000;
  const micros = isExact ? high * 0x1_0000_0000 + low : times.readBigInt64BE(offset);
  if (typeof micros === "number") {
    const seconds = Math.floor(micros / 1_000_000);
    return textOf(seconds, micros - seconds * 1_000_000);
  }
  const fraction = Number(((micros % 1_000_000n) + 1_000_000n) % 1_000_000n);
  return textOf(Number((micros - BigInt(fraction)) / 1_000_000n), fraction);
}

function textOf(seconds: number, fraction: number): string {
  if (seconds !== lastSecond) {
    lastText = secondText(seconds);
    lastSecond = seconds;
  }
  const millis = Math.floor(fraction / 1000);
  const micros = fraction - millis * 1000;
  return `${lastText}.${threeDigits[millis]}${micros === 0 ? "" : threeDigits[micros]}Z`;
}

function secondText(seconds: number): string {
  const day = Math.floor(seconds / daySeconds);
  if (day !== lastDay) {
    lastDate = new Date((day * daySeconds + epochSeconds) * 1000).toISOString().slice(0, 10);
    lastDay = day;
  }
  const second = seconds - day * daySeconds;
  return `${lastDate}T${twoDigits[Math.floor(second / 3600)]}:${twoDigits[Math.floor(second / 60) % 60]}:${twoDigits[second % 60]}`;
}
