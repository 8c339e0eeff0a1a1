import { checkinsExporter } from "./checkins/checkins.export.ts";
import type { Database } from "./db/database.ts";
import type { UserExporter } from "./exports/user-export.ts";
import { filesExporter } from "./files/files.export.ts";
import { identitiesExporter } from "./identities/identities.export.ts";
import type { Clock } from "./lib/clock.ts";
import { metadataExporter } from "./metadata/metadata.export.ts";
import { metricsExporter } from "./metrics/metrics.export.ts";
import type { Pseudonyms } from "./metrics/metrics.pseudonyms.ts";
import type { ByteStore } from "./storage/byte-store.ts";
import { usersExporter } from "./users/users.export.ts";

/** All that there is of a user, in the order in which an export has it. */
export function createUserExporters(services: {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly pseudonyms: Pseudonyms;
  readonly clock: Clock;
}): readonly UserExporter[] {
  return [
    usersExporter(services),
    identitiesExporter(services),
    checkinsExporter(services),
    metadataExporter(services),
    metricsExporter(services),
    filesExporter(services),
  ];
}
