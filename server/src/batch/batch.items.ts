import { ApiError } from "../errors.ts";
import type { RawParameters } from "../http/call.ts";
import { compileParameters } from "../http/parameters.ts";
import { Type } from "../http/schema.ts";
import { Members, Raw, Text } from "../http/wire.ts";

/** One call of a batch, as it was sent. */
export interface BatchItem {
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: RawParameters;
  readonly idempotencyKey: unknown;
  /** However often it is run. */
  readonly admission: { isAdmitted: boolean };
}

/** What is wrong with an item is its own answer. */
export type ReadItem = BatchItem | { readonly key: string; readonly failure: ApiError };

const Key = Text({ minLength: 1, maxLength: 256 });
const Item = Type.Object({
  method: Text({ maxLength: 16 }),
  path: Text({}),
  parameters: Type.Optional(Members()),
  idempotencyKey: Type.Optional(Raw({ keepsEmpty: true })), // an empty one is judged, as it is in the header
});
const readMembers = compileParameters(Item);
const readKey = compileParameters(Type.Object({ key: Type.Optional(Key) }));

/** Reads an item: member names in any case, null as absent. An item without a key has its index as key. */
export function readItem(sent: unknown, index: number): ReadItem {
  let key = String(index);
  try {
    if (typeof sent !== "object" || sent === null || Array.isArray(sent)) {
      throw new ApiError("ParameterIncorrectFormat", "An item of requests must be an object.");
    }
    const members = Object.entries(sent);
    key = readKey(members).key ?? key; // first of all, so that whatever else is wrong is answered under it
    const { method, path, parameters = {}, idempotencyKey } = readMembers(members);
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
