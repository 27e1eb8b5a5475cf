/** Parts of the tracker that a page asks for by the script's name, as with Plausible's: `script.outbound-links.js`. */
export const extensionNames = ["outbound-links", "file-downloads", "form-submissions"] as const;

/** The source of the tracker: a program, and a function that takes the names of extensions. */
export interface TrackerSource {
  readonly script: string;
  readonly extensions: string;
}

/** The tracker with extensions. */
export function composeTracker({ script, extensions }: TrackerSource, names: readonly string[]): string {
  if (names.length === 0) return script;
  return `${script}(${extensions.trim().replace(/;$/, "")})(${JSON.stringify(names)});\n`;
}

/** @returns the extensions of `outbound-links.file-downloads`, in one order; undefined for anything else */
export function readExtensions(text: string): readonly string[] | undefined {
  const names = text.split(".");
  const known = extensionNames.filter((name) => names.includes(name));
  return known.length === names.length ? known : undefined;
}
