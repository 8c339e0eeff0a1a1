import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../errors.ts";
import { parseBody, parseQuery } from "./body.ts";
import type { Call, RawParameters } from "./call.ts";
import { setOrigin } from "./cors.ts";
import { sendReply, setQuota } from "./envelope.ts";
import { ArchiveResult } from "./file-result.ts";
import type { Authenticate, Operation } from "./operations.ts";
import { pathOf } from "./request-log.ts";
import type { AnyCaller, Caller } from "./route.ts";
import { sendArchive, sendFile } from "./send-file.ts";
import { readSignature, requireSignature } from "./signatures.ts";
import { receiveUpload, type UploadLimits } from "./upload.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    operation?: string;
    /** The body is left to the operation. */
    isUpload?: boolean;
    /** Answered in clear too where https is required. */
    mayBeClear?: boolean;
  }
}

export interface MountOptions {
  readonly authenticate: Authenticate;
  readonly limits: UploadLimits;
  /** The word before a token in Authorization. */
  readonly scheme: string;
}

/** Puts one operation on the server: caller first, then the body, then the parameters, then the handler. */
export function mountOperation(
  server: FastifyInstance,
  operation: Operation,
  { authenticate, limits, scheme }: MountOptions,
): void {
  const { route } = operation;
  const { caller: required } = route;
  const isDownload = route.download !== undefined;

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { authorization, "idempotency-key": idempotencyKey } = request.headers;
    const call = {
      requestId: request.id,
      authorization,
      address: request.address,
      forgetAddress() {
        request.address = "";
      },
      idempotencyKey,
      isGone: () => reply.raw.destroyed,
      path: request.params as Record<string, unknown>, // the router's, by the names in the path
      readParameters: () => rawParameters(request),
      receive: (store: Parameters<NonNullable<Call["receive"]>>[0]) =>
        receiveUpload(request.raw, request.contentType, limits, store),
    } as Call; // of the file it stores `receive` knows no more than the declaration does
    const answered = await operation.perform(call, request.caller);
    request.failure = answered.failure;
    if (answered.file !== undefined) {
      if (answered.quota !== undefined) setQuota(reply, answered.quota);
      if (answered.file instanceof ArchiveResult) sendArchive(reply, answered.file);
      else await sendFile(request, reply, answered.file);
      return;
    }
    sendReply(reply, answered);
  }

  server.route({
    method: isDownload ? [route.method, "HEAD"] : route.method,
    url: routerPath(route.path),
    config: { operation: route.operation, isUpload: route.upload !== undefined, mayBeClear: route.mayBeClear ?? false },
    onRequest(request, reply, done) {
      setOperation(request, route.operation);
      if (required === "anyone") {
        done();
        return;
      }
      let { authorization } = request.headers;
      let isSignable = true;
      if (isDownload) {
        // For who can send no header: a player, or a page that shows pictures.
        const given = new Map(Array.from(queryOf(request), ([name, value]) => [name.toLowerCase(), value]));
        if (given.has("signature")) {
          done(); // the operation judges it
          return;
        }
        const token = given.get("accesstoken");
        if (typeof token === "string" && authorization === undefined) {
          authorization = `${scheme} ${token}`;
          isSignable = readSignature(authorization) !== undefined; // a page that shows a picture may have none
        }
      }
      const accept = (caller: AnyCaller) => {
        request.caller = caller;
        setOrigin(reply, request);
        try {
          if (isSignable && "policy" in caller) requireSignedRequest(request, caller, authorization);
        } catch (error) {
          done(error as Error); // an ApiError
          return;
        }
        done();
      };
      let caller: ReturnType<Authenticate>;
      try {
        caller = authenticate(authorization, required);
      } catch (error) {
        done(error as Error); // authenticate throws ApiError
        return;
      }
      if (caller instanceof Promise) caller.then(accept, done);
      else accept(caller);
    },
    handler(request, reply) {
      answer(request, reply).catch((error) => reply.send(error));
    },
  });
}

/** @throws ApiError AuthSignatureInvalid */
export function requireSignedRequest(request: FastifyRequest, caller: Caller, authorization: string | undefined): void {
  const { signing } = caller.policy;
  if (signing === undefined) return;
  const { method, url } = request;
  const signed = { method, applicationId: caller.applicationId, path: pathOf(url) };
  requireSignature(signing, readSignature(authorization), signed);
}

/** Says what is called, from the first moment that it is known. */
export function setOperation(request: FastifyRequest, operation: string | undefined): void {
  request.operation = operation;
  if (request.call !== undefined) request.call.operation = operation;
}

/** A path as the router writes its parameters. */
export function routerPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

function rawParameters(request: FastifyRequest): RawParameters {
  if (request.body instanceof ApiError) throw request.body; // what `readBody` resolved with
  const body = request.body instanceof Buffer ? parseBody(request.body, request.contentType) : [];
  if (request.method === "DELETE") return [...queryOf(request), ...body];
  return request.method === "GET" || request.method === "HEAD" ? queryOf(request) : body;
}

function queryOf(request: FastifyRequest): RawParameters {
  return parseQuery(request.query as unknown as string); // querystringParser leaves it a text
}
