import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../errors.ts";
import { parseBody, parseQuery } from "./body.ts";
import { sendResult } from "./envelope.ts";
import { compileParameters, type RawParameters } from "./parameters.ts";
import { type Caller, type CallerKind, Created, type OperatorCaller, type Route } from "./route.ts";
import { createSerializer } from "./serializer.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    operation?: string;
  }
}

/** Finds out who is calling; throws or rejects with an ApiError. */
export type Authenticate = (
  authorization: string | undefined,
  required: Exclude<CallerKind, "anyone">,
) => Caller | OperatorCaller | Promise<Caller | OperatorCaller>;

/** Puts one declared operation on the server: caller first, then the body, then the parameters, then the handler. */
export function mountRoute(server: FastifyInstance, route: Route, authenticate: Authenticate): void {
  const readPath = compileOptional(route.pathParameters);
  const readParameters = compileOptional(route.parameters);
  const serialize = createSerializer(route.result);
  const { caller: required } = route;

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const handled = await route.handle({
      caller: request.caller as never, // of the kind that the route requires: authenticate has seen to it
      path: readPath(Object.entries(request.params as Record<string, unknown>)),
      parameters: readParameters(rawParameters(request)),
    });
    if (handled instanceof Created) sendResult(reply, 201, serialize(handled.result));
    else sendResult(reply, route.status, serialize(handled));
  }

  server.route({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ":$1"),
    config: { operation: route.operation },
    onRequest(request, _reply, done) {
      if (required === "anyone") {
        done();
        return;
      }
      const { authorization } = request.headers;
      let caller: ReturnType<Authenticate>;
      try {
        caller = authenticate(authorization, required);
      } catch (error) {
        done(error as Error); // authenticate throws ApiError
        return;
      }
      if (caller instanceof Promise) {
        caller.then((found) => {
          request.caller = found;
          done();
        }, done);
      } else {
        request.caller = caller;
        done();
      }
    },
    handler(request, reply) {
      answer(request, reply).catch((error) => reply.send(error));
    },
  });
}

function compileOptional(shape: Route["parameters"]): (raw: RawParameters) => Record<string, unknown> {
  return shape === undefined ? () => ({}) : compileParameters(shape);
}

function rawParameters(request: FastifyRequest): RawParameters {
  if (request.body instanceof ApiError) throw request.body; // what `readBody` resolved with
  const body = request.body instanceof Buffer ? parseBody(request.body, request.contentType) : [];
  if (request.method !== "GET" && request.method !== "DELETE") return body;
  const query = parseQuery(request.query as unknown as string); // querystringParser leaves it a text
  return request.method === "GET" ? query : [...query, ...body];
}
