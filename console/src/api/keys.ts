import type { Impact as WireImpact } from "../../../server/src/applications/applications.impact.operator.routes.ts";
import type {
  ChangedKey,
  KeyPage,
  NewKey,
} from "../../../server/src/applications/applications.keys.operator.contract.ts";
import type { SigningSecret } from "../../../server/src/applications/applications.settings.operator.contract.ts";
import type { Static } from "../../../server/src/contract/schema.ts";
import { operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type Key = Static<typeof KeyPage>["pageResults"][number];
export type CreatedKey = Static<typeof NewKey>;
export type Impact = Static<typeof WireImpact>;

interface OfApplication {
  readonly appid: string;
}
interface OfKey extends OfApplication {
  readonly keyId: string;
}

const keys = "/applications/{appid}/keys";

export const listKeys = operation<OfApplication & PageParameters, Static<typeof KeyPage>>("GET", keys, [
  "appid",
  "pageSize",
  "pagingToken",
]);

export const createKey = operation<OfApplication & { label?: string }, CreatedKey>("POST", keys, ["appid", "label"]);

export const relabelKey = operation<OfKey & { label: string }, Static<typeof ChangedKey>>("PATCH", `${keys}/{keyId}`, [
  "appid",
  "keyId",
  "label",
]);

/** @param confirm the id again, to retire the last active key */
export const retireKey = operation<OfKey & { confirm?: string }, Static<typeof ChangedKey>>(
  "POST",
  `${keys}/{keyId}/retire`,
  ["appid", "keyId", "confirm"],
);

export const revokeKeyTokens = operation<OfKey, true>("POST", `${keys}/{keyId}/revoke-tokens`, ["appid", "keyId"]);

export const getKeyImpact = operation<OfKey, Impact>("GET", `${keys}/{keyId}/impact`, ["appid", "keyId"]);

export const getApplicationImpact = operation<OfApplication, Impact>("GET", "/applications/{appid}/impact", ["appid"]);

/** Revokes every key and token of an application. */
export const replaceKeys = operation<OfApplication, CreatedKey>("POST", "/applications/{appid}/compromised", ["appid"]);

const signingSecret = "/applications/{appid}/signing-secret";

/** @param secret made by the server where it is absent */
export const createSigningSecret = operation<OfApplication & { secret?: string }, Static<typeof SigningSecret>>(
  "PUT",
  signingSecret,
  ["appid", "secret"],
);

export const deleteSigningSecret = operation<OfApplication, true>("DELETE", signingSecret, ["appid"]);
