import type { IncomingHttpHeaders } from "node:http";
import type { ErrorCondition } from "../lib/errors.ts";
import type { UserCaller } from "./route.ts";
import type { Tag } from "./tags.ts";

/**
 * Paths for users with a different protocol, which uses headers and bytes instead of parameters and results. Errors use
 * the envelope nevertheless.
 */
export interface Endpoint {
  readonly tag: Tag;
  readonly operations: readonly EndpointOperation[];
  /** Sent with every response, including errors. */
  readonly headers: Readonly<Record<string, string>>;
  /** Additional headers of the response to OPTIONS, which needs no token. */
  readonly options: Readonly<Record<string, string>>;
  /** @throws ApiError */
  answer(call: EndpointCall): Promise<EndpointReply>;
}

/** The declaration of an endpoint's operation, for the router and for OpenAPI. */
export interface EndpointOperation {
  readonly method: "HEAD" | "POST" | "PATCH" | "DELETE";
  /** With its parameters in braces. */
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly description: string;
  readonly requestHeaders: Readonly<Record<string, HeaderDescription>>;
  /** The Content-Type of its body; absent without a body. */
  readonly takes?: string;
  readonly status: 200 | 201 | 204;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly errors: readonly ErrorCondition[];
}

export interface HeaderDescription {
  readonly isRequired: boolean;
  readonly description: string;
}

export interface EndpointCall {
  readonly caller: UserCaller;
  /** Selected by X-HTTP-Method-Override, if the request has it. */
  readonly operation: EndpointOperation;
  readonly path: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly contentType: string | undefined;
  readonly body: ArrivingBytes;
}

export interface EndpointReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** The body of a request while it arrives; it may be incomplete. */
export interface ArrivingBytes {
  /**
   * Can be read once. Finishes at the end of the body, when the connection breaks, when no byte arrives for too long,
   * and after `stop`. Never throws.
   */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Whether the complete body has been read. */
  isWhole(): boolean;
  isConnected(): boolean;
  stop(): void;
  /** Finishes the upload, after which the ordinary time-outs apply to the connection again. */
  end(): void;
}

/** Returns the headers of the response to OPTIONS; undefined if the path is not that of an endpoint. */
export function optionsHeaders(
  endpoints: readonly Endpoint[],
  given: string,
): Readonly<Record<string, string>> | undefined {
  const path = given.replace(/\/+$/, "");
  const found = endpoints.find(({ operations }) => operations.some((each) => matches(each.path, path)));
  return found && { ...found.headers, ...found.options };
}

/** Returns the names of the response headers that web pages may read. */
export function readableHeaders({ headers, options, operations }: Endpoint): string[] {
  return [headers, options, ...operations.map((each) => each.responseHeaders)].flatMap(Object.keys);
}

function matches(declared: string, path: string): boolean {
  const [names, given] = [declared.split("/"), path.split("/")];
  return names.length === given.length && names.every((name, index) => name.startsWith("{") || name === given[index]);
}
