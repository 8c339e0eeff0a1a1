/** A kind of objects with an id. */
interface Kind {
  /** The prefix of its ids. */
  readonly prefix: string;
  /** The table with its rows by application and id, if an id is enough to find the application. */
  readonly table?: string;
  /** The first part of the path to an object, for clients and, after the application, for operators. */
  readonly collection?: string;
}

/** A kind of objects that users own and may share (`owned/`). */
export interface OwnedEntry extends Kind {
  /** The table with its rows, which several kinds may share. */
  readonly table: string;
  readonly collection: string;
  /** The column whose value names an object in the operators' search. */
  readonly title: string;
  /** The column by which an index orders all objects of one user; ties are broken by id. */
  readonly listedBy: "created_at" | "id";
  /** The group of its operations in OpenAPI, and the description of the group. */
  readonly tag: string;
  readonly about: string;
  /** Objects without a user are public (spec/locations#public-locations). */
  readonly mayBePublic?: true;
  /** Further tables than `metadata` whose rows belong to one object and are erased with it. */
  readonly attached?: readonly string[];
}

/**
 * The kinds of objects that users own and may share. Ids, paths, event types, erasure, metadata rights, the operators'
 * search and the tags of OpenAPI derive from this table; `db/owned-tables.ts` compares it with the schema.
 */
export const ownedKinds = {
  Checkin: {
    prefix: "chk",
    table: "checkins",
    collection: "checkins",
    title: "comment",
    listedBy: "created_at",
    tag: "Check-ins",
    about: "The locations of users over time.",
  },
  Location: {
    prefix: "loc",
    table: "locations",
    collection: "locations",
    title: "name",
    listedBy: "created_at",
    tag: "Locations",
    about: "Places with a name and an address.",
    mayBePublic: true,
    attached: ["location_flags"],
  },
  Picture: {
    prefix: "pic",
    table: "files",
    collection: "pictures",
    title: "title",
    listedBy: "id",
    tag: "Pictures",
    about: "Pictures of users, also scaled.",
  },
  Video: {
    prefix: "vid",
    table: "files",
    collection: "videos",
    title: "title",
    listedBy: "id",
    tag: "Videos",
    about: "Videos of users.",
  },
  Blob: {
    prefix: "blb",
    table: "files",
    collection: "blobs",
    title: "title",
    listedBy: "id",
    tag: "Blobs",
    about: "Files of any other type.",
  },
} as const satisfies Record<string, OwnedEntry>;

const otherKinds = {
  App: { prefix: "app" },
  ApplicationKey: { prefix: "apk", table: "application_keys" },
  Device: { prefix: "dev", table: "devices", collection: "devices" },
  User: { prefix: "usr", table: "users", collection: "users" },
  Token: { prefix: "tok" },
  CrashReport: { prefix: "crs" },
  Place: { prefix: "plc" },
  MetricEvent: { prefix: "met" },
  Operator: { prefix: "opr" },
  OperatorSession: { prefix: "ses" },
  AuditEntry: { prefix: "aud" },
  Mail: { prefix: "mal" },
  LocationFlag: { prefix: "flg" },
  Event: { prefix: "evt" },
  Webhook: { prefix: "whk", table: "webhooks" },
  WebhookDelivery: { prefix: "whd" },
} as const satisfies Record<string, Kind>;

export type OwnedIdKind = keyof typeof ownedKinds;
export type IdKind = OwnedIdKind | keyof typeof otherKinds;

/** Every kind of objects with an id. */
export const kinds: Readonly<Record<IdKind, Kind>> = { ...otherKinds, ...ownedKinds };

export const ownedIdKinds = Object.keys(ownedKinds) as OwnedIdKind[]; // of exactly these names

/** The kinds of objects that have metadata and events. */
export const carrierKinds: readonly IdKind[] = (["App", "Device", "User", ...ownedIdKinds] as const).toSorted();

export function isOwnedKind(kind: IdKind | undefined): kind is OwnedIdKind {
  return kind !== undefined && kind in ownedKinds;
}
