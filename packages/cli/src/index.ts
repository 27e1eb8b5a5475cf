export { CommandError } from "./command-error.js";
export { explainError } from "./explain-error.js";
export { dataFolderOf, type LocalSystem, localSystemFile, readLocalSystem } from "./local-system.js";
export { prepareDatabase } from "./prepare-database.js";
