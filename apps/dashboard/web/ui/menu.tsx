import type { ComponentChildren, TargetedKeyboardEvent, TargetedToggleEvent } from "preact";
import { useId, useRef } from "preact/hooks";
import { Button } from "./button.js";
import type { IconName } from "./icon.js";

interface MenuProps {
  label: string;
  icon?: IconName;
  isIconOnly?: boolean;
  look?: "quiet";
  children: ComponentChildren;
}

/** A button with a menu (APG): arrows move, Home and End jump, a letter seeks, Escape closes. */
export function Menu({ label, children, ...look }: MenuProps) {
  const id = useId();
  const menu = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLElement>(null);
  // Before it opens, so that its first item has the focus as soon as it shows: a toggle event comes a moment later.
  const onBeforeToggle = ({ newState, currentTarget }: TargetedToggleEvent<HTMLElement>) => {
    button.current?.firstElementChild?.setAttribute("aria-expanded", String(newState === "open"));
    itemsOf(currentTarget)[0]?.setAttribute("autofocus", "");
  };
  return (
    <span class="menu-anchor" ref={button}>
      <Button
        text={label}
        {...look}
        aria-haspopup="menu"
        aria-expanded="false"
        aria-controls={id}
        popovertarget={id}
        onClick={() => place(menu.current, button.current)}
      />
      <div
        ref={menu}
        id={id}
        class="menu"
        popover="auto"
        role="menu"
        aria-label={label}
        tabIndex={-1}
        onBeforeToggle={onBeforeToggle}
        onKeyDown={moveInMenu}
        onClick={() => menu.current?.hidePopover()}
      >
        {children}
      </div>
    </span>
  );
}

/** Puts the menu below its button, or above where there is more room, within the window. */
function place(menu: HTMLElement | null, anchor: HTMLElement | null): void {
  if (!menu || !anchor) return;
  const { left, right, top, bottom } = anchor.getBoundingClientRect();
  const isLow = top > innerHeight - bottom;
  const isRight = left + right > innerWidth;
  menu.style.left = isRight ? "auto" : `${Math.max(8, left)}px`;
  menu.style.right = isRight ? `${Math.max(8, innerWidth - right)}px` : "auto";
  menu.style.top = isLow ? "auto" : `${bottom + 4}px`;
  menu.style.bottom = isLow ? `${innerHeight - top + 4}px` : "auto";
}

function itemsOf(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>('[role^="menuitem"]')];
}

function moveInMenu(event: TargetedKeyboardEvent<HTMLElement>): void {
  const items = itemsOf(event.currentTarget);
  const at = items.indexOf(document.activeElement as HTMLElement);
  const next = nextIndex(event.key, at, items);
  if (event.key === "Tab") event.currentTarget.hidePopover();
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  items[next]?.focus();
}

function nextIndex(key: string, at: number, items: readonly HTMLElement[]): number | undefined {
  if (key === "ArrowDown") return (at + 1) % items.length;
  if (key === "ArrowUp") return (at + items.length - 1) % items.length;
  if (key === "Home") return 0;
  if (key === "End") return items.length - 1;
  if (key.length !== 1 || key === " ") return undefined;
  const letter = key.toLowerCase();
  const order = items.map((_, offset) => (at + 1 + offset) % items.length);
  return order.find((index) => items[index]?.textContent?.trim().toLowerCase().startsWith(letter));
}

interface MenuItemProps {
  href?: string;
  download?: boolean;
  /** Whether it holds, for one of several of which one does. */
  isChecked?: boolean;
  onClick?(): void;
  children: ComponentChildren;
}

export function MenuItem({ href, download, isChecked, onClick, children }: MenuItemProps) {
  const shared = { class: "menu-item", tabIndex: -1, children };
  if (href !== undefined) return <a {...shared} role="menuitem" href={href} download={download} />;
  const choice = { role: "menuitemradio", "aria-checked": isChecked } as const;
  const look = isChecked === undefined ? ({ role: "menuitem" } as const) : choice;
  return <button {...shared} {...look} type="button" onClick={onClick} />;
}
