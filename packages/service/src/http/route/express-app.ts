import { isDatabaseUnavailable } from "@waymark/database";
import { errorHandler, notFoundHandler } from "@waymark/errors";
import express, { type Express } from "express";
import { type RequestContextOptions, requestContext } from "./request-context.js";

/** Makes a service's app: each request gets its context, what no route takes is answered 404, and each error is one of ours. */
export function createExpress(options: RequestContextOptions, mount: (app: Express) => void): Express {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.use(requestContext(options));
  mount(app);
  app.use(notFoundHandler);
  app.use(errorHandler({ isUnavailable: isDatabaseUnavailable, log: options.log }));
  return app;
}
