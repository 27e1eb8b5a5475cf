export { CommandError } from "./context/command-error.js";
export { explainError } from "./context/explain-error.js";
export { prepareDatabase } from "./context/prepare-database.js";
export { dataFolderOf, type LocalSystem, localSystemFile, readLocalSystem } from "./local-system.js";
