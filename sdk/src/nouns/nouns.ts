import type { ChangeCheckinRequest, Checkin, CreateCheckinRequest, SearchCheckinsQuery } from "../generated/types.ts";
import type { CallOptions } from "../transport/options.ts";
import { type BlobsNoun, createBlobsNoun } from "./blobs.client.ts";
import { type ChangesNoun, createChangesNoun } from "./changes.client.ts";
import { createDeviceNoun, type DeviceNoun } from "./device.client.ts";
import { createIdentitiesNoun, type IdentitiesNoun } from "./identities.client.ts";
import { createLocationsNoun, type LocationsNoun } from "./locations.client.ts";
import { createMetadataNoun, type MetadataNoun } from "./metadata.client.ts";
import { createMetricsNoun, type MetricsNoun } from "./metrics.client.ts";
import { createOwnedNoun, type OwnedCalls, type OwnedNoun, ownedCalls } from "./owned.ts";
import { createPicturesNoun, type PicturesNoun } from "./pictures.client.ts";
import type { Send } from "./send.ts";
import { createUsersNoun, type UsersNoun } from "./users.client.ts";
import { createVideosNoun, type VideosNoun } from "./videos.client.ts";

/** Check-ins: the location of a user at a time. */
export interface CheckinsNoun extends OwnedNoun<Checkin, ChangeCheckinRequest, SearchCheckinsQuery> {
  create(fields: CreateCheckinRequest, options?: CallOptions): Promise<Checkin>;
}

const checkinCalls: OwnedCalls<Checkin, CreateCheckinRequest, ChangeCheckinRequest, SearchCheckinsQuery> =
  /* @__PURE__ */ ownedCalls("Checkin");

/** The resources of the service and their operations. */
export interface Nouns {
  readonly device: DeviceNoun;
  readonly users: UsersNoun;
  readonly identities: IdentitiesNoun;
  readonly checkins: CheckinsNoun;
  readonly locations: LocationsNoun;
  readonly pictures: PicturesNoun;
  readonly videos: VideosNoun;
  readonly blobs: BlobsNoun;
  readonly metadata: MetadataNoun;
  readonly metrics: MetricsNoun;
  readonly changes: ChangesNoun;
}

export function createNouns(send: Send): Nouns {
  return {
    device: createDeviceNoun(send),
    users: createUsersNoun(send),
    identities: createIdentitiesNoun(send),
    checkins: createOwnedNoun(send, checkinCalls),
    locations: createLocationsNoun(send),
    pictures: createPicturesNoun(send),
    videos: createVideosNoun(send),
    blobs: createBlobsNoun(send),
    metadata: createMetadataNoun(send),
    metrics: createMetricsNoun(send),
    changes: createChangesNoun(send),
  };
}
