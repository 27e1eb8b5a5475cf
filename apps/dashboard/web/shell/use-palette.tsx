import type { FunctionComponent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { PaletteProps } from "../palette/palette.js";
import { Button } from "../ui/button.js";
import type { Entry } from "./navigation.js";

/** A button that opens the palette, as Ctrl+K and Cmd+K do, and its dialog, which loads when it is first asked for. */
export function usePalette(entries: readonly Entry[], isNarrow: boolean) {
  const [isOpen, setOpen] = useState(false);
  const [Palette, setPalette] = useState<FunctionComponent<PaletteProps>>();
  const toggle = useRef(() => {});
  toggle.current = () => {
    if (!isOpen && document.querySelector("dialog[open]")) return;
    setOpen(!isOpen);
    if (!Palette)
      import("../palette/palette.js").then(
        (m) => setPalette(() => m.Palette),
        () => setOpen(false),
      );
  };
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key !== "k") return;
      event.preventDefault();
      toggle.current();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, []);
  const button = (
    <span class="palette-button">
      <Button
        text="Go to"
        icon="search"
        look={isNarrow ? "quiet" : undefined}
        isIconOnly={isNarrow}
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => toggle.current()}
      />
    </span>
  );
  const dialog = isOpen && Palette && <Palette entries={entries} onClose={() => setOpen(false)} />;
  return { button, dialog };
}
