import { applicationPathParameters } from "../auth/operated-application.ts";
import { enumeration, named, Type } from "../contract/schema.ts";
import { Text } from "../contract/wire.ts";
import { forOwnedTables } from "../db/owned-tables.ts";

export const SearchPath = Type.Object(applicationPathParameters);

/** The longest valid address: longer strings match nothing. */
const textCharactersMax = 320;

export const Search = Type.Object({
  q: Text({ minLength: 1, maxLength: textCharactersMax, description: "An id, or how a name begins." }),
});

const SearchMatch = enumeration("SearchMatch", "The kind of a match.", {
  id: "Its id, or that of a report of the crash.",
  name: "The beginning of its name, its label or its key.",
  personName: "The beginning of the first or last name of the user.",
  email: "The beginning of the address of the user.",
  uniqueId: "The beginning of the uniqueId of the device.",
  identity: "The identifier of an identity of the user.",
  requestId: "The `request_id` of the call.",
  object: "The application has the object of this id.",
});

/** The maximum number of hits per kind. */
export const hitsMax = 10;

const SearchHit = named(
  "SearchHit",
  "An object that a search has found.",
  Type.Object({
    id: Type.String({ description: "The id; of a crash the fingerprint, of a metric the key." }),
    title: Type.Optional(
      Type.String({ description: "Its name; of an entry of the audit log the action, of a call the operation." }),
    ),
    detail: Type.Optional(Type.String({ description: "Of a user, the first and last name and the address." })),
    appid: Type.Optional(Type.String({ description: "In a search of the deployment, the application of the user." })),
    application: Type.Optional(Type.String({ description: "The name of this application." })),
    match: SearchMatch,
  }),
);

const hits = (description: string) => ({ ...Type.Array(SearchHit), description });

export const ApplicationHits = named(
  "ApplicationHits",
  "The hits in an application, up to ten of each kind.",
  Type.Object({
    users: hits("By id, user name, first or last name, address or identity."),
    devices: hits("By id or uniqueId."),
    ...forOwnedTables((table) => hits(table === "files" ? "Pictures, videos and blobs, by id." : "By id.")),
    keys: hits("By id or label."),
    crashes: hits("By fingerprint, or by the id of a report."),
    metrics: hits("By key."),
    audit: hits("By id, or by the `request_id` of the call."),
    requests: hits("Calls that this machine still remembers, by `request_id`."),
  }),
);

/** Without its application, an object is found only in this number of the newest applications. */
export const searchedApplicationsMax = 1_000;

export const DeploymentHits = named(
  "DeploymentHits",
  "The hits in the deployment, up to ten of each kind.",
  Type.Object({
    applications: hits("By id or name."),
    users: hits("By user name, first or last name, or address, in any of the newest 1,000 applications."),
    operators: hits("By id or name."),
    audit: hits("By id, or by the `request_id` of the call."),
  }),
);
