import { useEffect, useRef } from "preact/hooks";

/**
 * Takes the page's keys; `onKey` says whether a key was one of its. Text fields, open dialogs and menus, and keys with Ctrl, Alt
 * or Meta keep theirs.
 */
export function useKeys(onKey: (event: KeyboardEvent) => boolean): void {
  const latest = useRef(onKey);
  latest.current = onKey;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTaken(event.target)) return;
      if (latest.current(event)) event.preventDefault();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, []);
}

function isTaken(target: EventTarget | null): boolean {
  if (document.querySelector("dialog[open], [popover]:popover-open")) return true;
  return target instanceof Element && target.closest("input:not(.choice), textarea, select") !== null;
}
