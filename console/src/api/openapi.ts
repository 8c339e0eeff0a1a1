import { queryOptions } from "@tanstack/react-query";
import { CallError } from "../lib/call-error.ts";

/** A condition of the error catalogue. */
export interface CataloguedError {
  readonly condition: string;
  readonly number: number;
  readonly status: number;
  readonly when: string;
  /** The reaction of a client, in a few words. */
  readonly remedy: string;
}

export interface DocumentedSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, DocumentedSchema>>;
  readonly required?: readonly string[];
  readonly items?: DocumentedSchema;
}

export interface DocumentedParameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: DocumentedSchema;
}

export interface DocumentedOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly "x-caller"?: "anyone" | "device" | "user" | "operator";
  readonly "x-errors"?: readonly string[];
  readonly "x-excluded-errors"?: readonly string[];
  readonly parameters?: readonly DocumentedParameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: DocumentedSchema }>> };
}

/** The parts of the OpenAPI document that the console uses. */
export interface OpenApiDocument {
  readonly tags: readonly { readonly name: string }[];
  readonly "x-error-catalogue": readonly CataloguedError[];
  /** The failures of every operation of a kind of caller, except for its `x-excluded-errors`. */
  readonly "x-caller-errors"?: Readonly<Record<string, readonly string[]>>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, DocumentedSchema>>;
    readonly parameters: Readonly<Record<string, DocumentedParameter>>;
  };
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
