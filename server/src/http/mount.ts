import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../errors.ts";
import { parseBody, parseQuery } from "./body.ts";
import type { RawParameters } from "./call.ts";
import { sendReply } from "./envelope.ts";
import type { Authenticate, Operation } from "./operations.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    operation?: string;
  }
}

/** Puts one operation on the server: caller first, then the body, then the parameters, then the handler. */
export function mountOperation(server: FastifyInstance, operation: Operation, authenticate: Authenticate): void {
  const { route } = operation;
  const { caller: required } = route;

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { authorization, "idempotency-key": idempotencyKey } = request.headers;
    const call = {
      requestId: request.id,
      authorization,
      address: request.ip,
      idempotencyKey,
      path: request.params as Record<string, unknown>, // the router's, by the names in the path
      readParameters: () => rawParameters(request),
    };
    const answered = await operation.perform(call, request.caller);
    request.failure = answered.failure;
    sendReply(reply, answered);
  }

  server.route({
    method: route.method,
    url: routerPath(route.path),
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

/** A path as the router writes its parameters. */
export function routerPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

function rawParameters(request: FastifyRequest): RawParameters {
  if (request.body instanceof ApiError) throw request.body; // what `readBody` resolved with
  const body = request.body instanceof Buffer ? parseBody(request.body, request.contentType) : [];
  if (request.method !== "GET" && request.method !== "DELETE") return body;
  const query = parseQuery(request.query as unknown as string); // querystringParser leaves it a text
  return request.method === "GET" ? query : [...query, ...body];
}
