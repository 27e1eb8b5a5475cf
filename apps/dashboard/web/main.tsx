import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/page.css";
import "./styles/controls.css";
import "./styles/overlays.css";
import "./styles/tables.css";
import "./shell/shell.css";
import { render } from "preact";
import { App } from "./app.js";
import { readTheme } from "./ui/preferences.js";

document.documentElement.dataset["theme"] = readTheme();

const root = document.getElementById("app");
// A task of its own, after the script's.
if (root) setTimeout(() => render(<App />, root));
