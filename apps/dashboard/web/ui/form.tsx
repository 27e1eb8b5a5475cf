import type { ComponentChildren } from "preact";
import { Button } from "./button.js";
import { Dialog } from "./dialog.js";

interface FormProps {
  verb: string;
  look?: "main" | "danger";
  isBusy: boolean;
  onSubmit(): void;
  class?: string;
  children: ComponentChildren;
}

/** Fields and the button that sends them. Without scripts it is a POST, so that nothing typed gets into an address. */
export function Form({ verb, look, isBusy, onSubmit, class: className, children }: FormProps) {
  return (
    <form
      class={className}
      method="post"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
      <Button type="submit" look={look} isBusy={isBusy}>
        {verb}
      </Button>
    </form>
  );
}

interface FormDialogProps extends Omit<FormProps, "class"> {
  title: string;
  onClose(): void;
}

export function FormDialog({ title, onClose, look = "main", ...form }: FormDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Form look={look} {...form} />
    </Dialog>
  );
}
