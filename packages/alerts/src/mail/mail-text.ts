/** Longest texts in a mail, in characters. */
export const bounds = { subject: 120, line: 300, error: 2_000 } as const;

export const styles = {
  body: "font-family:system-ui,sans-serif;font-size:15px;line-height:1.5;color:#111",
  cell: "padding:2px 16px 2px 0;vertical-align:top",
  small: "color:#666;font-size:13px",
} as const;

/** A text without control characters: they move the cursor or the writing direction and could forge lines of the mail. */
export function printable(text: string): string {
  return text.replaceAll(/\r\n?/g, "\n").replaceAll(/[^\P{C}\n\t]/gu, "�");
}

/** A client's text, on one line and cut. */
export function oneLine(text: string, limit: number): string {
  return cut(printable(text).replaceAll(/\s+/g, " ").trim(), limit);
}

/** At most so many characters, code points and not UTF-16 units, with a mark at a cut. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const characters = [...text];
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join("")}…`;
}

export function escapeHtml(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** A moment to the second, such as `2026-01-31 12:00:04 UTC`. */
export function formatMoment(moment: Date): string {
  return `${moment.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** A number and its noun, such as `1 trace` or `1,200 traces`. */
export function countOf(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

/** A duration in its two largest units, such as `1 min 23 s`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 0) return "not known: it ended before it started";
  if (durationMs < 1_000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 60_000) return `${Number((durationMs / 1_000).toFixed(1))} s`;
  const seconds = Math.round(durationMs / 1_000);
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600), Math.floor(seconds / 60)];
  if (days > 0) return `${days} d ${hours % 24} h`;
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  return `${minutes} min ${seconds % 60} s`;
}
