import type { Excerpt } from "@waymark/traces";

/** A text of an answer, to be shown as far as there is room: it becomes a member. */
export interface Slot {
  excerpt: Excerpt;
  of: Record<string, unknown>;
  name: string;
}

const jsonLength = (text: string) => JSON.stringify(text).length;

/** Shows texts within some characters of JSON: short ones whole, of long ones the start and the end. */
export function fitTexts(slots: readonly Slot[], room: number): void {
  let left = room;
  const measured = slots.map((slot) => ({ ...slot, whole: wholeOf(slot.excerpt) }));
  const needs = measured.map((slot) => ({ ...slot, need: slot.whole === undefined ? room : jsonLength(slot.whole) }));
  needs.sort((a, b) => a.need - b.need);
  for (const [at, { excerpt, whole, need, of, name }] of needs.entries()) {
    const share = Math.max(0, Math.floor(left / (needs.length - at)));
    const text = whole !== undefined && need <= share ? whole : cut(excerpt, share);
    of[name] = text;
    left -= jsonLength(text);
  }
}

function wholeOf({ head, tail, characters }: Excerpt): string | undefined {
  if (head.length + tail.length < characters) return undefined;
  return [...head].length + [...tail].length === characters ? head + tail : undefined;
}

/** Text takes at most six characters of JSON each, so a few rounds find its length. */
function cut({ head, tail, characters }: Excerpt, room: number): string {
  const mark = ` … [cut: ${characters} characters in all] … `;
  for (let units = room - mark.length; units > 0; units = Math.floor(units * 0.7)) {
    const last = tail || head.slice(units);
    const text = `${head.slice(0, Math.ceil(units * 0.7))}${mark}${last.slice(-Math.max(1, Math.floor(units * 0.3)))}`;
    if (jsonLength(text) <= room) return text.toWellFormed();
  }
  return mark.trim();
}
