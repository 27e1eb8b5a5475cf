import type { AppError } from "@waymark/errors";
import type { Request, Response } from "express";
import type { z } from "zod";
import type { JsonBody } from "../body/json-body.js";
import type { IdempotencyKey } from "./idempotency-key.js";

export interface Answer {
  status: number;
  /** A `Cache-Control` among them replaces `no-store`. */
  headers?: Readonly<Record<string, string>>;
  /** An object is written as JSON. Text, whole or in chunks, and bytes are sent as they are. */
  body: object | string | AsyncIterable<string | Buffer> | Buffer;
  /** The media type of text or bytes; JSON if omitted. */
  contentType?: string;
}

interface RouteInput<Query, Body> {
  params: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  /** Present if the route takes idempotency keys and the request has one. */
  idempotency?: IdempotencyKey | undefined;
  request: Request;
  response: Response;
}

interface DocumentedMedia {
  schema: z.ZodType;
  example?: unknown;
}

export interface DocumentedAnswer extends DocumentedMedia {
  description: string;
  headers?: readonly string[];
  contentType?: string;
  otherMedia?: Readonly<Record<string, DocumentedMedia>>;
}

export type MediaTypes = Readonly<Record<string, DocumentedMedia>>;

/** A body decoded by the handler: inflated, within the size limit. */
export interface EncodedBody<MediaType extends string> {
  mediaType: MediaType;
  bytes: Buffer;
}

export type BodySpec = z.ZodType | MediaTypes;

type BodyOf<Body extends BodySpec> = Body extends z.ZodType ? z.output<Body> : EncodedBody<Extract<keyof Body, string>>;

interface Handling<Query extends z.ZodType, Body extends BodySpec> {
  method: "get" | "post" | "put" | "patch" | "delete";
  /** In Express's syntax, such as `/traces/:trace_id`, below the base path. */
  path: string;
  /** Replaces the API's base path, such as `""`. */
  basePath?: string;
  /** An object schema of the query parameters. Other parameters are refused with 400, unless `lenientQuery` allows them. */
  query?: Query;
  /** Where a contract is silent about unknown ones: allowed beside no other known parameter than these. */
  lenientQuery?: readonly string[];
  body?: Body;
  /** The members of a body kept as `JsonText`. With some, no other member may be an array or object. */
  opaqueKeys?: readonly string[];
  /** A list with such members in its elements, likewise. A longer or repeated one is refused before it is parsed. */
  opaqueElements?: { list: string; keys: readonly string[]; most: number };
  /** Reads the usual body as `body` does, at a fraction of the cost; undefined leaves it to `body`. */
  readUsual?(given: JsonBody): BodyOf<Body> | undefined;
  /** What a request's key must be for; `MountOptions.permit` checks it. */
  scope?: string;
  /** Whether the route reads `Idempotency-Key`; the handler keeps the promise. */
  takesIdempotencyKey?: boolean;
  handle(input: RouteInput<z.output<Query>, BodyOf<Body>>): Promise<Answer>;
  /** Sends errors other than Waymark's JSON, also errors of guards. */
  sendError?(response: Response, error: AppError): void;
}

/** A route: its address, input and answers. The same schemas check requests and describe the API. */
export interface RouteSpec<Query extends z.ZodType, Body extends BodySpec> extends Handling<Query, Body> {
  operationId: string;
  summary: string;
  description?: string;
  params?: Readonly<Record<string, string>>;
  bodyExample?: unknown;
  /** Request headers with an example each, for the example request of the documentation. */
  headers?: Readonly<Record<string, { description: string; example: string }>>;
  answers: Readonly<Record<number, DocumentedAnswer>>;
}

/** A route without its type parameters, for mounting and describing. */
export type Route = RouteSpec<z.ZodType, BodySpec>;

/** Checks a route's types against each other. It does nothing else: `mountRoutes` mounts the route. */
export function route<
  Query extends z.ZodType = z.ZodUnknown,
  Body extends BodySpec = z.ZodUnknown,
  Scope extends string | undefined = undefined,
>(spec: RouteSpec<Query, Body> & { scope?: Scope }): Route & WithScope<Scope> {
  return spec as unknown as Route & WithScope<Scope>;
}

/** An API whose routes all declare a scope requires it by type. */
type WithScope<Scope> = Scope extends string ? { readonly scope: Scope } : unknown;

/** A route of our own pages, without a description: programs in `packages/proof` read its address and schemas alone. */
export function pageRoute<Query extends z.ZodType = z.ZodUnknown, Body extends BodySpec = z.ZodUnknown>(
  spec: Handling<Query, Body>,
): Route {
  const params = Object.fromEntries([...spec.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => [name, ""]));
  return route({ ...spec, params, operationId: `${spec.method} ${spec.path}`, summary: "", answers: {} });
}
