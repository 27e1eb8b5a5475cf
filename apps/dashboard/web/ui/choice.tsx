import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Button } from "./button.js";
import { formatCount } from "./format.js";

export type Choice = ReturnType<typeof useChoice>;

/** The chosen rows of a list by their ids; one that left the list is chosen no longer. */
export function useChoice(listed: readonly string[]) {
  const [wanted, setWanted] = useState<ReadonlySet<string>>(new Set());
  const last = useRef("");
  return {
    ids: listed.filter((id) => wanted.has(id)),
    listed,
    set: (ids: readonly string[]) => setWanted(new Set(ids)),
    /** Chooses a row, or no longer; with `isRange` all from the one before to it. */
    toggle(id: string, isRange: boolean) {
      const [from, to] = [isRange ? listed.indexOf(last.current) : -1, listed.indexOf(id)];
      const range = from < 0 ? [id] : listed.slice(Math.min(from, to), Math.max(from, to) + 1);
      const next = new Set(wanted);
      for (const each of range) {
        if (wanted.has(id)) next.delete(each);
        else next.add(each);
      }
      last.current = id;
      setWanted(next);
    },
  };
}

export function ChoiceBox({ choice, id, name }: { choice: Choice; id: string; name: string }) {
  return (
    <input
      type="checkbox"
      class="choice"
      aria-label={`Choose ${name}`}
      value={id}
      checked={choice.ids.includes(id)}
      onClick={(event) => choice.toggle(id, event.shiftKey)}
    />
  );
}

/** `x` chooses the row of the focused link; Shift with an arrow moves on and chooses both rows. Says whether it took the key. */
export function takeChoiceKey(choice: Choice, { key, shiftKey }: KeyboardEvent): boolean {
  const boxes = [...document.querySelectorAll<HTMLInputElement>("input.choice")];
  const row = document.activeElement?.closest("tr");
  const at = boxes.findIndex((box) => box.closest("tr") === row);
  const box = boxes[at];
  if (!row || !box) return false;
  if (key === "x") choice.toggle(box.value, false);
  else if (shiftKey && (key === "ArrowDown" || key === "ArrowUp")) {
    const next = boxes[at + (key === "ArrowDown" ? 1 : -1)];
    if (!next) return true;
    choice.set([...choice.ids, box.value, next.value]);
    const selector = document.activeElement === box ? "input.choice" : "a";
    next.closest("tr")?.querySelector<HTMLElement>(selector)?.focus();
  } else return false;
  return true;
}

/** What may be done with the chosen rows; nothing while there are none. */
export function ChoiceBar({ choice, children }: { choice: Choice; children: ComponentChildren }) {
  const { ids, listed, set } = choice;
  if (ids.length === 0) return null;
  return (
    <fieldset class="row choice-bar" aria-label="Chosen rows">
      <span role="status">{formatCount(ids.length)} chosen</span>
      {children}
      {ids.length < listed.length && (
        <Button text={`Choose all ${formatCount(listed.length)} shown`} onClick={() => set(listed)} />
      )}
      <Button text="Choose none" look="quiet" onClick={() => set([])} />
    </fieldset>
  );
}

/** The most that one request takes. */
export const maxAtOnce = 100;

/** Sends ids in as many requests as they need, one after the other. Returns the ids of which it was done. */
export async function inPortions(
  ids: readonly string[],
  send: (ids: readonly string[]) => Promise<{ results: readonly { id: string; isDone: boolean }[] }>,
): Promise<string[]> {
  const done: string[] = [];
  for (let at = 0; at < ids.length; at += maxAtOnce) {
    const { results } = await send(ids.slice(at, at + maxAtOnce));
    done.push(...results.flatMap(({ id, isDone }) => (isDone ? [id] : [])));
  }
  return done;
}
