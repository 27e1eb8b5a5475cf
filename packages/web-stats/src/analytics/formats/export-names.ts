/** Other tools' names of browsers and systems, in lower case and without a version, and those of the statistics. */
const browsers: Readonly<Record<string, string>> = {
  "chrome mobile": "Chrome",
  "chrome webview": "Chrome",
  "chromium-webview": "Chrome",
  crios: "Chrome",
  "edge-chromium": "Microsoft Edge",
  "edge-ios": "Microsoft Edge",
  edge: "Microsoft Edge",
  "firefox mobile": "Firefox",
  fxios: "Firefox",
  ie: "Internet Explorer",
  "ios-webview": "Safari",
  ios: "Safari",
  "mobile safari": "Safari",
  "opera mini": "Opera",
  "opera-mini": "Opera",
  samsung: "Samsung Internet for Android",
  "samsung browser": "Samsung Internet for Android",
  "samsung internet": "Samsung Internet for Android",
  android: "Android Browser",
  silk: "Amazon Silk",
  yandex: "Yandex Browser",
  yandexbrowser: "Yandex Browser",
  "uc browser": "UC Browser",
};

const systems: Readonly<Record<string, string>> = {
  "android os": "Android",
  "chrome os": "Chrome OS",
  chromeos: "Chrome OS",
  "gnu/linux": "Linux",
  ipados: "iOS",
  mac: "macOS",
  "mac os": "macOS",
  "mac os x": "macOS",
  ubuntu: "Linux",
};

/** Names that differ from the statistics' own in letters' case alone. */
const usual = [
  "Chrome",
  "Firefox",
  "Safari",
  "Opera",
  "Vivaldi",
  "Brave",
  "Chromium",
  "Windows",
  "macOS",
  "iOS",
  "Linux",
];

/** The device kinds of the statistics. */
const devices: Readonly<Record<string, string>> = {
  desktop: "desktop",
  laptop: "desktop",
  "ultra-wide monitor": "desktop",
  mobile: "mobile",
  tablet: "tablet",
  tv: "tv",
  smarttv: "tv",
};

export function browserName(text: string | undefined): string | null {
  return nameOf(text, browsers);
}

export function systemName(text: string | undefined): string | null {
  return nameOf(text, systems);
}

export function deviceName(text: string | undefined): string | null {
  return devices[text?.toLowerCase() ?? ""] ?? null;
}

/** The country's code, also of a region's; nothing for anything else, which must not cost the event. */
export function countryCode(text: string | undefined): string | undefined {
  return /^([A-Z]{2})(?:-.*)?$/.exec(text ?? "")?.[1];
}

/** Without a version: `Windows 10` counts as `Windows`, as live events do. An unknown name stays as it is. */
function nameOf(text: string | undefined, names: Readonly<Record<string, string>>): string | null {
  const name = text?.replace(/ [\d._]+$/, "").trim();
  if (!name || /^(unknown|\(not set\)|\(unknown\))$/i.test(name)) return null;
  const key = name.toLowerCase();
  return names[key] ?? usual.find((each) => each.toLowerCase() === key) ?? name;
}
