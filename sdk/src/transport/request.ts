import type { AnyCall } from "../wire/call.ts";
import { encodeParameters, encodeQuery } from "../wire/encode.ts";
import type { Source } from "../wire/source.ts";
import type { Envelope } from "./answer.ts";
import type { Form } from "./form.ts";
import type { Uploads } from "./upload.ts";

/** A request of a call; all its attempts send the same bytes. */
export interface WireRequest extends Partial<Pick<Form, "contentType" | "length">> {
  readonly method: string;
  /** Below the root, without the query. */
  readonly path: string;
  readonly query?: string;
  readonly body?: string | Form["body"];
  /** Sent as a header; an item of a batch holds its own. */
  readonly key?: string | undefined;
  /** Whether the answer is that of a batch with one item. */
  readonly isTunnelled?: boolean;
}

/** @param tunnels whether PUT, PATCH and DELETE are sent in batches */
export function buildRequest(
  call: AnyCall,
  key: string | undefined,
  tunnels: boolean,
  uploads: Uploads | undefined,
): WireRequest {
  const { path, operation, parameters = {} } = call;
  const { method } = operation;
  if (operation.hasFile) {
    const { data, ...fields } = parameters;
    return { method, path, key, ...uploads?.build(data as Source, JSON.stringify(encodeParameters(fields))) };
  }
  const encoded = encodeParameters(parameters);
  const json = (value: unknown) => ({ contentType: "application/json", body: JSON.stringify(value) });
  if (tunnels && method !== "GET" && method !== "POST") {
    const item = { method, path, parameters: encoded, idempotencyKey: key };
    return { method: "POST", path: "/batch", isTunnelled: true, ...json({ requests: [item] }) };
  }
  const hasBody = method !== "GET" && method !== "DELETE";
  return { method, path, key, ...(hasBody ? json(encoded) : { query: encodeQuery(encoded) }) };
}

/** The envelope of the only item of a batch, or of the batch if the service refused it. */
export function readTunnelled(envelope: Envelope | undefined): Envelope | undefined {
  return Object(envelope?.result).responses?.[0] ?? envelope;
}
