export { prepareDatabase } from "./context/command-context.js";
export { CommandError } from "./context/command-error.js";
export { explainError } from "./context/explain-error.js";
export { parseObject, readJsonFile } from "./context/json.js";
export { dataFolderOf, type LocalSystem, localSystemFile, readLocalSystem, typed } from "./local-system.js";
