import type { Socket } from "node:net";
import type { Logger } from "pino";
import { ApiError, errorRow } from "../lib/errors.ts";
import { anyOrigin, errorReply, jsonContentType, newRequestId, replyBody } from "../operations/envelope.ts";
import { type AnsweredCall, notOperations } from "./request-observer.ts";

/** The reason why a request could not be parsed. */
export interface BrokenRequest {
  readonly code?: string;
}

/**
 * Answers input that cannot be parsed as a request: a head that is malformed, too long or too slow.
 *
 * @returns undefined when the client can no longer receive a response
 */
export function answerBrokenRequest(error: BrokenRequest, socket: Socket, log: Logger): AnsweredCall | undefined {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return undefined;
  }
  const requestId = newRequestId();
  const failure = brokenRequestError(error.code);
  const { status } = errorRow(failure.condition);
  const body = replyBody(errorReply(failure), requestId);
  log.info({
    request_id: requestId,
    status,
    error: failure.condition,
    code: error.code,
    address: socket.remoteAddress,
  });
  const head = [
    `HTTP/1.1 ${status} Refused`,
    `Content-Type: ${jsonContentType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Access-Control-Allow-Origin: ${anyOrigin}`,
    "X-Content-Type-Options: nosniff",
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  // Closing immediately would reset a client that is still sending, and lose the response.
  setTimeout(() => socket.destroy(), lingerMs).unref();
  const asked = { requestId, at: Date.now(), method: undefined, path: undefined, address: socket.remoteAddress ?? "" };
  return { ...asked, operation: notOperations.broken, status, ms: 0, caller: undefined, failure };
}

const lingerMs = 1_000;

function brokenRequestError(code: string | undefined): ApiError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new ApiError("RequestTooLarge", "The path and the headers together are too long.");
    case "HPE_INVALID_METHOD":
    case "CONNECT":
      return new ApiError("OperationNotFound");
    case "EXPECTATION":
      return new ApiError("ParameterIncorrectFormat", "The only supported expectation is 100-continue.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new ApiError("ParameterIncorrectFormat", "The request did not arrive in time.");
    case "ERR_SSL_HTTP_REQUEST":
      return new ApiError("ParameterIncorrectFormat", "This port accepts HTTPS only.");
    default:
      return new ApiError("ParameterIncorrectFormat", "The request is not valid HTTP.");
  }
}
