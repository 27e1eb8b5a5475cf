#!/usr/bin/env node
// long-functions.mjs FILE...: prints each function of more than 70 lines as `file:line: lines`, by TypeScript's own parser.
// TypeScript 7 calls this interface unstable: its version is pinned.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import * as ast from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

const maxLines = 70;
const files = process.argv.slice(2).map((file) => resolve(file));

const folder = mkdtempSync(join(tmpdir(), "waymark-functions-"));
const project = join(folder, "tsconfig.json");
// Parsing needs no resolved imports.
writeFileSync(project, JSON.stringify({ compilerOptions: { noResolve: true, noLib: true, types: [] }, files }));
const api = new API({ cwd: folder });
try {
  const { program } = api.updateSnapshot({ openProject: project }).getProject(project);
  for (const file of files) visit(program.getSourceFile(file), file);
} finally {
  api.close();
  rmSync(folder, { recursive: true });
}

function visit(source, file) {
  const lineOf = (position) => source.text.slice(0, position).split("\n").length;
  const walk = (node) => {
    if (isFunction(node) && !isSuite(node)) {
      const first = lineOf(node.getStart(source));
      const lines = lineOf(node.end) - first + 1;
      if (lines > maxLines) console.log(`${relative(process.cwd(), file)}:${first}: ${lines} lines`);
    }
    node.forEachChild(walk);
  };
  walk(source);
}

function isFunction({ kind }) {
  const { SyntaxKind } = ast;
  return [
    SyntaxKind.FunctionDeclaration,
    SyntaxKind.FunctionExpression,
    SyntaxKind.ArrowFunction,
    SyntaxKind.MethodDeclaration,
    SyntaxKind.Constructor,
    SyntaxKind.GetAccessor,
    SyntaxKind.SetAccessor,
  ].includes(kind);
}

/** The callback of `describe` only groups tests. */
function isSuite(node) {
  const call = node.parent;
  return call?.kind === ast.SyntaxKind.CallExpression && /^describe/.test(call.expression.getText());
}
