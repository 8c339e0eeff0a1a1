import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { HeldBody } from "./body.ts";
import { setOrigin } from "./cors.ts";
import { sendReply, setQuota } from "./envelope.ts";
import { ArchiveResult } from "./file-result.ts";
import { HttpCall, type HttpCallServices, queryOf } from "./http-call.ts";
import { createIgnoredNames, ignoredHeader } from "./ignored.ts";
import { smallReplyBytes } from "./in-flight.ts";
import type { Authenticate, Operation } from "./operations.ts";
import { pathOf } from "./request-log.ts";
import type { AnyCaller, Caller } from "./route.ts";
import { sendArchive, sendFile } from "./send-file.ts";
import { readSignature, requireSignature } from "./signatures.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    operation?: string;
    /** The operation reads the body itself. */
    isUpload?: boolean;
    /** Answered over plain HTTP, even when HTTPS is required. */
    allowsPlainHttp?: boolean;
  }
}

export interface MountOptions extends HttpCallServices {
  readonly authenticate: Authenticate;
  /** The scheme of the Authorization header. */
  readonly scheme: string;
}

/** The memory of a file while it is sent. */
const fileBufferBytes = 65_536;

/** Registers one operation: authenticates first, then reads the body and the parameters, then runs the handler. */
export function mountOperation(server: FastifyInstance, operation: Operation, services: MountOptions): void {
  const { authenticate, inFlight, scheme } = services;
  const { route } = operation;
  const { caller: required } = route;
  const isDownload = route.download !== undefined;
  const ignoredNames = createIgnoredNames(route);

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const call = new HttpCall(request, reply, services);
    const answered = await operation.perform(call, request.caller);
    request.failure = answered.failure;
    const ignored = call.unread.length === 0 ? undefined : ignoredNames(call.unread);
    if (ignored !== undefined) reply.header(ignoredHeader, ignored);
    if (answered.file !== undefined) {
      if (answered.quota !== undefined) setQuota(reply, answered.quota);
      if (answered.file instanceof ArchiveResult) {
        inFlight.beginArchive(request, reply);
        sendArchive(request, reply, answered.file);
      } else
        await sendFile(request, reply, answered.file, () => inFlight.holdReply(request, reply, fileBufferBytes, true));
      return;
    }
    const { length } = answered.content;
    // A completed change must be reported; a read can be repeated.
    const isHeld = answered.isSuccess && (call.built?.isBuilt(length) ?? false);
    if (!isHeld && length > smallReplyBytes) inFlight.holdReply(request, reply, length, route.method === "GET");
    sendReply(reply, answered);
  }

  server.route({
    method: route.method === "GET" ? ["GET", "HEAD"] : route.method,
    url: routerPath(route.path),
    config: {
      operation: route.operation,
      isUpload: route.upload !== undefined,
      allowsPlainHttp: route.allowsPlainHttp ?? false,
    },
    onRequest(request, reply, done) {
      setOperation(request, route.operation);
      if (required === "anyone") {
        done();
        return;
      }
      let { authorization } = request.headers;
      let isSignable = true;
      if (isDownload) {
        // For clients that cannot send headers: media players, and pages that show pictures.
        const given = new Map(Array.from(queryOf(request), ([name, value]) => [name.toLowerCase(), value]));
        if (given.has("signature")) {
          done(); // the operation checks it
          return;
        }
        const token = given.get("accesstoken");
        if (typeof token === "string" && authorization === undefined) {
          authorization = `${scheme} ${token}`;
          isSignable = readSignature(authorization) !== undefined; // an <img> may have no token
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
      const answering = answer(request, reply).catch((error) => reply.send(error));
      const { body } = request;
      if (!(body instanceof HeldBody)) return;
      body.claim();
      answering.finally(() => body.release());
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

/** Sets the operation name as soon as it is known. */
export function setOperation(request: FastifyRequest, operation: string | undefined): void {
  request.operation = operation;
  if (request.call !== undefined) request.call.operation = operation;
}

/** Converts a path to the router's syntax. */
export function routerPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}
