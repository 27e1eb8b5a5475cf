export type Theme = "system" | "light" | "dark";

const key = "waymark.theme";

export function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(key);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

/** Sets the theme of the document, and keeps it for the next visit. */
export function setTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  try {
    localStorage.setItem(key, theme);
  } catch {
    // A browser without storage shows it until the tab closes.
  }
}

document.documentElement.dataset["theme"] = readTheme();
