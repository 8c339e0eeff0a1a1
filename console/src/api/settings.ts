import type { PutSettings } from "../../../server/src/applications/applications.settings.operator.contract.ts";
import type { Static } from "../../../server/src/contract/schema.ts";
import { operation } from "./call.ts";

export type Settings = Static<typeof PutSettings>;
/** Some members, each as a whole; null unsets a member. */
export type ChangedSettings = { readonly [Member in keyof Settings]?: Settings[Member] | null };

interface OfApplication {
  readonly appid: string;
}

const path = "/applications/{appid}/settings";

export const getSettings = operation<OfApplication, Settings>("GET", path, ["appid"]);

export const changeSettings = operation<OfApplication & ChangedSettings, Settings>("PATCH", path, [
  "appid",
  "oidc",
  "retention",
  "quotas",
  "tokenLifetimes",
  "disabledOperations",
  "origins",
  "signedRequests",
  "limits",
  "mail",
  "locationData",
  "debug",
  "email",
  "rehearsal",
]);
