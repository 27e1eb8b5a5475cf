/**
 * Node's flags for the services that take load, as in the images. Stacks name lines of the sources. V8 collects the old generation
 * once it has grown by half; otherwise it may quadruple under load.
 */
export const deployedFlags: readonly string[] = [
  "--enable-source-maps",
  "--max-semi-space-size=16",
  "--heap-growing-percent=50",
];
