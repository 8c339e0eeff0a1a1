import { queryOptions } from "@tanstack/react-query";
import { CallError } from "../lib/call-error.ts";

/** A condition of the error catalogue. */
export interface CataloguedError {
  readonly condition: string;
  readonly number: number;
  readonly status: number;
  readonly when: string;
  /** What a client does about it, in a few words. */
  readonly remedy: string;
}

/** The parts of the OpenAPI document that the console reads. */
export interface OpenApiDocument {
  readonly "x-error-catalogue": readonly CataloguedError[];
}

/** The description of the API that this server serves; it does not change while the server runs. */
export const openapiQuery = queryOptions({
  queryKey: ["openapi"],
  queryFn: ({ signal }) => fetchDocument(signal),
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: Number.POSITIVE_INFINITY,
});

async function fetchDocument(signal: AbortSignal): Promise<OpenApiDocument> {
  try {
    const response = await fetch("../openapi.json", { signal, credentials: "omit" });
    if (response.ok) return await response.json();
  } catch {
    signal.throwIfAborted();
  }
  throw new CallError(0, { error: "Unreachable", message: "The description of the API cannot be loaded." });
}
