import { checkinKind, presentCheckin } from "../checkins/checkins.contract.ts";
import type { Database } from "../db/database.ts";
import type { OwnedTableName } from "../db/tables.ts";
import { filesExporter } from "../files/files.export.ts";
import { identitiesExporter } from "../identities/identities.export.ts";
import type { Clock } from "../lib/clock.ts";
import { locationKind, presentLocation } from "../locations/locations.contract.ts";
import { locationFlagsExporter } from "../locations/locations.export.ts";
import { metadataExporter } from "../metadata/metadata.export.ts";
import type { SaltedHashes } from "../metrics/engine/salted-hashes.ts";
import { metricsExporter } from "../metrics/metrics.export.ts";
import { ownedExporter, type UserExporter } from "../owned/export.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import { usersExporter } from "../users/users.export.ts";

/** All exporters of a user's data, in the order in which an export contains them. */
export function createUserExporters(services: {
  readonly database: Database;
  readonly bytes: Pick<ByteStore, "read">;
  readonly saltedHashes: SaltedHashes;
  readonly clock: Clock;
}): readonly UserExporter[] {
  /** The compiler requires an entry for each table of owned objects. */
  const { files, ...owned }: Record<OwnedTableName, UserExporter> = {
    checkins: ownedExporter(checkinKind, presentCheckin, services),
    locations: ownedExporter(locationKind, presentLocation, services),
    files: filesExporter(services),
  };
  return [
    usersExporter(services),
    identitiesExporter(services),
    ...Object.values(owned),
    locationFlagsExporter(services),
    metadataExporter(services),
    metricsExporter(services),
    files, // last, because they are the largest
  ];
}
