import type { AnchorHTMLAttributes, ButtonHTMLAttributes, ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon.js";

interface Look {
  /** `main` is the page's one most likely action; `danger` deletes; `quiet` has no border. */
  look?: "main" | "danger" | "quiet" | undefined;
  icon?: IconName;
  /** Shows the icon alone; the text stays the name. */
  isIconOnly?: boolean;
  children: ComponentChildren;
}

type ButtonProps = Look & Omit<ButtonHTMLAttributes<HTMLButtonElement>, "class" | "icon"> & { isBusy?: boolean };

/** A button. While busy it keeps its place, its name and the focus. */
export function Button({ look, icon, isIconOnly, isBusy, children, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={classOf(look, isIconOnly)}
      aria-disabled={isBusy ? true : undefined}
      onClick={(event) => {
        if (isBusy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {icon && <Icon name={icon} />}
      <span class={isIconOnly ? "sr-only" : undefined}>{children}</span>
    </button>
  );
}

export function ButtonLink({
  look,
  icon,
  isIconOnly,
  children,
  ...rest
}: Look & AnchorHTMLAttributes<HTMLAnchorElement>) {
  return (
    <a {...rest} class={classOf(look, isIconOnly)}>
      {icon && <Icon name={icon} />}
      <span class={isIconOnly ? "sr-only" : undefined}>{children}</span>
    </a>
  );
}

function classOf(look: Look["look"], isIconOnly: boolean | undefined): string {
  return ["button", look && `is-${look}`, isIconOnly && "is-icon"].filter(Boolean).join(" ");
}
