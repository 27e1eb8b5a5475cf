import { IncomingMessage, type OutgoingHttpHeaders, type RequestListener, ServerResponse } from "node:http";

/** The part of an Express app that decides what a request and a response inherit from. */
interface ExpressApp {
  request: object;
  response: object;
}

/** The classes of a server's requests and responses, as `http.createServer` takes them. */
export interface MessageClasses {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
}

/**
 * Makes the classes of a server's requests and responses. Express gives each message the prototype of its app, and a message
 * whose prototype changes loses its shape: all property reads after that are slow. Here messages are made with the app's
 * prototypes, so that Express changes nothing. On Node 20 that doubles what an idle Express app answers; from Node 22 on the
 * change itself is cheap, and this does no harm.
 *
 * Subclasses, not `Object.create` or `Reflect.construct`: V8 optimises `new` of a class alone.
 * @param handler an Express app, whose `request` and `response` become the prototypes of the classes, or any other listener
 * @param onHead called before each answer's head is written
 */
export function createMessageClasses(
  handler: RequestListener,
  onHead: (response: ServerResponse) => void,
): MessageClasses {
  class Request extends IncomingMessage {}
  class Response<Of extends IncomingMessage> extends ServerResponse<Of> {
    override writeHead(statusCode: number, reasonOrHeaders?: unknown, headers?: unknown): this {
      onHead(this);
      return super.writeHead(statusCode, reasonOrHeaders as string, headers as OutgoingHttpHeaders);
    }
  }
  if (isExpressApp(handler)) {
    handler.request = inherit(Request.prototype, handler.request);
    handler.response = inherit(Response.prototype, handler.response);
  }
  return { IncomingMessage: Request, ServerResponse: Response };
}

function isExpressApp(handler: RequestListener): handler is RequestListener & ExpressApp {
  return "request" in handler && "response" in handler;
}

/** Gives a class's prototype what the app's had: its own properties, of which `app` is one, and Express's methods. */
function inherit(prototype: object, appPrototype: object): object {
  Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(appPrototype));
  return Object.setPrototypeOf(prototype, Object.getPrototypeOf(appPrototype));
}
