import { afterAll, beforeAll } from "@jest/globals";

interface Instance<App> {
  app: App;
  stop(): Promise<unknown>;
}

/**
 * Gives a test file two instances of an app, as beside a load balancer; they stop after its tests.
 * @returns a function from 0 or 1 to an instance's app
 */
export function useInstances<App>(start: () => Instance<App>): (index: 0 | 1) => App {
  const instances: Instance<App>[] = [];
  beforeAll(() => void instances.push(start(), start()));
  afterAll(() => Promise.all(instances.map((instance) => instance.stop())));
  return (index) => {
    const app = instances[index]?.app;
    if (!app) throw new Error("The app starts in beforeAll");
    return app;
  };
}
