import "./ui/theme.js";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/ui.css";
import "./shell/shell.css";
import { render } from "preact";
import { App } from "./app.js";
// Parts of many pages belong to the first file: a file for each would cost every page several requests.
import "./ui/ago.js";
import "./ui/copy-button.js";
import "./ui/dialog.js";
import "./ui/field.js";
import "./ui/panel.js";
import "./ui/segmented.js";
import "./ui/table.js";
import "./ui/tabs.js";

const root = document.getElementById("app");
if (root) render(<App />, root);
