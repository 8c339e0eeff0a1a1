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
  /** The names of unknown members. */
  readonly unread: readonly string[];
  /** Shared by all retries of the item, so that it is admitted once. */
  readonly admission: NonNullable<Call["admission"]>;
}

/** An item, or the failure of an invalid one. */
export type ReadItem = BatchItem | (Pick<BatchItem, "key" | "unread"> & { readonly failure: ApiError });

const readMembers = compileParameters(SentItem);
const readKey = compileParameters(Type.Object({ key: SentItem.properties.key }));

/** Reads an item: member names in any case, null as absent. The key defaults to the index. */
export function readItem(sent: unknown, index: number): ReadItem {
  let key = String(index);
  const unread: string[] = [];
  try {
    if (typeof sent !== "object" || sent === null || Array.isArray(sent)) {
      throw new ApiError("ParameterIncorrectFormat", "An item of requests must be an object.", {
        parameter: "requests",
      });
    }
    const given = Object.entries(sent);
    key = readKey(given).key ?? key; // read first, so that other errors are reported with it
    const { method, path, parameters = {}, idempotencyKey } = readMembers(given, unread);
    return {
      key,
      method: method.trim().toUpperCase(),
      path: rooted(path),
      parameters: Object.entries(parameters),
      idempotencyKey,
      unread,
      admission: { isAdmitted: false },
    };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { key, unread, failure: error };
  }
}

function rooted(path: string): string {
  return path.startsWith("/") ? path : `/${path}`;
}
