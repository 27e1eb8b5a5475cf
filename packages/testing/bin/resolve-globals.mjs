// A resolver for Node: outside of Jest's own module system `@jest/globals` only throws.
const globals = new URL("./jest-globals.mjs", import.meta.url).href;

export function resolve(specifier, context, next) {
  return specifier === "@jest/globals" ? { url: globals, shortCircuit: true } : next(specifier, context);
}
