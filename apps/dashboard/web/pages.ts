import type { FunctionComponent } from "preact";
import { part } from "./part.js";

/** Every page below `/dashboard`, each a part that loads when it is asked for. The menu shows a link once its page is here. */
export const pages: Readonly<Record<string, FunctionComponent>> = {
  "/": part(() => import("./home-page.js").then((m) => m.HomePage)),
};
