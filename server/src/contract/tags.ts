import { ownedKinds } from "../lib/kinds.ts";

const owned = Object.values(ownedKinds);
type OwnedTag = (typeof owned)[number]["tag"];

const otherTags = {
  Devices: "Registration, the facts that devices report, and crashes.",
  Users: "Sign-up, login, profiles, tokens and profile pictures.",
  Identities: "Links between users and other systems.",
  Metadata: "Any JSON by key, on objects, users, devices and the application.",
  Events: "Changes, for clients that keep a copy.",
  Metrics: "Events that apps report.",
  Batch: "Several calls in one request.",
  Operators: "The deployment: operators, applications and their data.",
  Service: "The server itself.",
  Uploads: "Resumable uploads of files.",
};

/** A group of operations in OpenAPI. */
export type Tag = OwnedTag | keyof typeof otherTags;

/** The descriptions of the groups. For owned objects, the table of kinds has them. */
export const tags: Readonly<Record<Tag, string>> = {
  ...otherTags,
  ...(Object.fromEntries(owned.map(({ tag, about }) => [tag, about])) as Record<OwnedTag, string>), // of exactly these names
};
