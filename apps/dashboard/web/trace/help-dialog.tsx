import { Dialog } from "../ui/dialog.js";

interface HelpProps {
  keys: readonly (readonly [key: string, meaning: string])[];
  onClose(): void;
}

export function HelpDialog({ keys, onClose }: HelpProps) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="help-keys">
        {keys.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
