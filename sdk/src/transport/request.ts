import type { AnyCall, Parameters } from "../wire/call.ts";
import { encodeParameters, encodeQuery } from "../wire/encode.ts";
import type { Source } from "../wire/source.ts";
import { buildForm, type Form } from "./form.ts";

/** A request of a call; all its attempts send the same bytes. */
export interface WireRequest {
  readonly method: string;
  /** Below the root, without the query. */
  readonly path: string;
  readonly query?: string;
  readonly contentType?: string;
  readonly body?: string | Form["body"];
  /** Of the body of an upload, in bytes. */
  readonly length?: number;
  /** Sent as a header; an item of a batch holds its own. */
  readonly key?: string | undefined;
  /** Whether the answer is that of a batch with one item. */
  readonly isTunnelled?: boolean;
}

/** @param tunnels whether PUT, PATCH and DELETE are sent in batches */
export function buildRequest(call: AnyCall, key: string | undefined, tunnels: boolean): WireRequest {
  const { path } = call;
  const { method, hasFile } = call.operation;
  if (hasFile) return { method, path, key, ...formOf(call.parameters ?? {}) };
  const parameters = encodeParameters(call.parameters ?? {});
  if (tunnels && method !== "GET" && method !== "POST") {
    const item = { method, path, parameters, idempotencyKey: key };
    return { method: "POST", path: "/batch", ...jsonOf({ requests: [item] }), isTunnelled: true };
  }
  if (method === "GET" || method === "DELETE") return { method, path, key, query: encodeQuery(parameters) };
  return { method, path, key, ...jsonOf(parameters) };
}

/** The envelope of the only item of a batch; that of the batch if it was refused as a whole. */
export function readTunnelled(text: string): string {
  try {
    const [item] = JSON.parse(text).result.responses;
    return JSON.stringify(item);
  } catch {
    return text;
  }
}

function jsonOf(value: unknown): Pick<WireRequest, "contentType" | "body"> {
  return { contentType: "application/json", body: JSON.stringify(value) };
}

function formOf({ data, ...fields }: Parameters): Pick<WireRequest, "contentType" | "body" | "length"> {
  return buildForm(data as Source, JSON.stringify(encodeParameters(fields)));
}
