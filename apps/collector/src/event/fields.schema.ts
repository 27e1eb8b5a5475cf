import { z } from "zod";

/** Longer than any address in a browser; recording bounds the path again. */
export const urlMaxLength = 8_192;

/** Longer referrers lose their query, then their path, so that caches hold no long ones. */
export const referrerMaxLength = 500;

export const pageUrl = z
  .string()
  .min(1)
  .max(urlMaxLength)
  .transform((text, context) => {
    const parsed = URL.canParse(text) ? new URL(text) : undefined;
    if (parsed?.protocol === "http:" || parsed?.protocol === "https:") return parsed;
    context.addIssue({ code: "custom", message: "Must be an http or https URL" });
    return z.NEVER;
  });

export const referrer = z
  .string()
  .nullish()
  .transform((text) => {
    if (!text) return null;
    if (text.length <= referrerMaxLength) return text;
    if (!URL.canParse(text)) return null;
    const { origin, pathname } = new URL(text);
    const place = `${origin}${pathname}`;
    return place.length <= referrerMaxLength ? place : origin;
  });
