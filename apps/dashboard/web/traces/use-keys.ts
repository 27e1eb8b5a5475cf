import { useEffect } from "preact/hooks";

const links = ".trace-row a";

/** Keys of the list: `/` searches, `j` and `k` go along the rows; Enter opens the focused link. */
export function useKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLInputElement>('input[type="search"]')?.select();
        return;
      }
      const step = event.key === "j" ? 1 : event.key === "k" ? -1 : 0;
      if (step === 0) return;
      const rows = [...document.querySelectorAll<HTMLElement>(links)];
      const at = rows.indexOf(document.activeElement as HTMLElement);
      const next = at === -1 ? rows.find((row) => row.getBoundingClientRect().top > 0) : rows[at + step];
      event.preventDefault();
      next?.focus({ preventScroll: true });
      next?.closest("tr")?.scrollIntoView({ block: "nearest" });
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  const isOpen = document.querySelector("dialog[open], :popover-open") !== null;
  return isOpen || (target instanceof HTMLElement && target.matches("input, select, textarea"));
}
