import type { Call, RawParameters } from "../contract/call.ts";
import { compileParameters } from "../contract/parameters.ts";
import { Type } from "../contract/schema.ts";
import { ApiError } from "../lib/errors.ts";
import { BatchItem as SentItem } from "./batch.contract.ts";

/** One call of a batch, as the client sent it. */
export interface BatchItem {
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: RawParameters;
  readonly idempotencyKey: unknown;
  /** Shared by all retries of the item. */
  readonly admission: NonNullable<Call["admission"]>;
}

/** An invalid item gets its own error envelope. */
export type ReadItem = BatchItem | { readonly key: string; readonly failure: ApiError };

const { key: Key, ...members } = SentItem.properties;
const readMembers = compileParameters(Type.Object(members));
const readKey = compileParameters(Type.Object({ key: Key }));

/** Reads an item: member names in any case, null as absent. Without a key, its index is the key. */
export function readItem(sent: unknown, index: number): ReadItem {
  let key = String(index);
  try {
    if (typeof sent !== "object" || sent === null || Array.isArray(sent)) {
      throw new ApiError("ParameterIncorrectFormat", "An item of requests must be an object.", {
        parameter: "requests",
      });
    }
    const given = Object.entries(sent);
    key = readKey(given).key ?? key; // read first, so that other errors are reported under it
    const { method, path, parameters = {}, idempotencyKey } = readMembers(given);
    return {
      key,
      method: method.trim().toUpperCase(),
      path: rooted(path),
      parameters: Object.entries(parameters),
      idempotencyKey,
      admission: { isAdmitted: false },
    };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { key, failure: error };
  }
}

function rooted(path: string): string {
  return path.startsWith("/") ? path : `/${path}`;
}
