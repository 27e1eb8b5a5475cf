import type { AnchorHTMLAttributes, ButtonHTMLAttributes } from "preact";
import { classNames } from "./class-names.js";
import { Icon, type IconName } from "./icon.js";

interface Look {
  /** `main` is the page's one most likely action; `danger` deletes; `quiet` has no border. */
  look?: "main" | "danger" | "quiet" | undefined;
  icon?: IconName;
  text: string;
}

export interface ButtonProps extends Look, Omit<ButtonHTMLAttributes<HTMLButtonElement>, "class" | keyof Look> {
  /** Shows the icon alone; the text stays the name. */
  isIconOnly?: boolean;
  isBusy?: boolean;
}

/** A button. While busy it keeps its place, its name and the focus. */
export function Button({ look, icon, isIconOnly, isBusy, text, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={classNames("button", look && `is-${look}`, isIconOnly && "is-icon")}
      aria-disabled={isBusy ? true : undefined}
      onClick={(event) => {
        if (isBusy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {icon && <Icon name={icon} />}
      <span class={isIconOnly ? "sr-only" : undefined}>{text}</span>
    </button>
  );
}

interface RunButtonProps<Input> extends Look {
  isIconOnly?: boolean;
  of: { isBusy: boolean; run(input: Input): void };
  with: Input;
}

export function RunButton<Input>({ of: action, with: input, ...look }: RunButtonProps<Input>) {
  return <Button {...look} isBusy={action.isBusy} onClick={() => action.run(input)} />;
}

export function ButtonLink({ look, icon, text, ...rest }: Look & AnchorHTMLAttributes<HTMLAnchorElement>) {
  return (
    <a {...rest} class={classNames("button", look && `is-${look}`)}>
      {icon && <Icon name={icon} />}
      <span>{text}</span>
    </a>
  );
}
