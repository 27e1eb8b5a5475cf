import { Dialog } from "../ui/dialog.js";

const keys: readonly [string, string][] = [
  ["↑ ↓ or K J", "previous and next span"],
  ["← → or H L", "close and open, to the parent and the first child"],
  ["E", "next error"],
  ["F", "zoom to the span, and back to all"],
  ["Enter, Esc", "to the span's details, and back"],
  ["/", "find in this trace"],
  ["[ ]", "previous and next trace of the list"],
  ["?", "this help"],
];

export function HelpDialog({ onClose }: { onClose(): void }) {
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
