// What tests import from `@jest/globals`: the functions of the file that runs now, also in fixtures that an earlier file loaded.
import { ModuleMocker } from "jest-mock";

export let afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test;
export const jest = new ModuleMocker(globalThis);

export function setGlobals(globals) {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } = globals);
}
