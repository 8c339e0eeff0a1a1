import { isPostgresUrl } from "./database-url.ts";
import { isLoopback } from "./networks.ts";
import { keyedRegions, mainRegion } from "./regions.ts";
import type { Settings } from "./settings.ts";

/** A setting that is valid alone, but not in combination with another. */
export interface Conflict {
  readonly name: string;
  /** Follows the setting's name: "must be …". */
  readonly rule: string;
}

/** One caller may hold a third of the bytes in flight, and a buffer doubles while a body arrives. */
export const bodiesInFlightMin = 8;

/** @param values the valid settings */
export function findConflicts(values: Partial<Settings>): readonly Conflict[] {
  const conflicts: Conflict[] = [];
  function require(isRight: boolean, name: string, rule: string): void {
    if (!isRight) conflicts.push({ name, rule });
  }

  const { tlsCertFile, tlsKeyFile, requireHttps, publicUrl } = values;
  require(tlsCertFile !== undefined || tlsKeyFile === undefined, "TLS_CERT_FILE", "must be set when TLS_KEY_FILE is");
  require(tlsKeyFile !== undefined || tlsCertFile === undefined, "TLS_KEY_FILE", "must be set when TLS_CERT_FILE is");
  require(!(
    requireHttps && publicUrl?.startsWith("http:")
  ), "PUBLIC_URL", "must be an https:// URL when REQUIRE_HTTPS is true");

  const { secrets = [], databaseUrl = "" } = values;
  require(secrets.length > 0 ||
    !isPostgresUrl(databaseUrl), "ROLLCALL_SECRET", "must be set when DATABASE_URL names PostgreSQL");

  const { filesUrl, filesDownload } = values;
  const isBucket = filesUrl?.startsWith("s3:") ?? false;
  require(filesDownload !== "redirect" ||
    isBucket, "FILES_DOWNLOAD", "must be stream when FILES_URL names no s3:// bucket");
  const keyRule = "must be set when FILES_URL names an s3:// bucket";
  require(!isBucket || values.awsAccessKeyId !== undefined, "AWS_ACCESS_KEY_ID", keyRule);
  require(!isBucket || values.awsSecretAccessKey !== undefined, "AWS_SECRET_ACCESS_KEY", keyRule);

  const { rateLimits = true, host = "" } = values;
  require(rateLimits || isLoopback(host), "RATE_LIMITS", "can be off only where HOST is 127.0.0.1, ::1 or localhost");

  const { inFlightBytesMax, bodyBytesMax = 0 } = values;
  require(inFlightBytesMax === undefined ||
    inFlightBytesMax >=
      bodiesInFlightMin *
        bodyBytesMax, "IN_FLIGHT_BYTES_MAX", `must be at least ${bodiesInFlightMin} times BODY_BYTES_MAX`);

  const { pageItemsDefault = 0, pageItemsMax = pageItemsDefault } = values;
  require(pageItemsDefault <= pageItemsMax, "PAGE_ITEMS_DEFAULT", "must not be above PAGE_ITEMS_MAX");

  return [...conflicts, ...findRegionConflicts(values)];
}

function findRegionConflicts({ region = mainRegion, regions, regionSecrets }: Partial<Settings>): readonly Conflict[] {
  const conflicts: Conflict[] = [];
  if (regions === undefined) return conflicts;
  if (regions.size > 0 && !(regions.has(mainRegion) && regions.has(region))) {
    conflicts.push({ name: "REGIONS", rule: `must name ${mainRegion} and what REGION says` });
  }
  if (regionSecrets === undefined) return conflicts;
  const refuse = (rule: string) => void conflicts.push({ name: "REGION_SECRET", rule });
  if (regions.size > 0 && regionSecrets.length === 0) refuse("must be set when REGIONS is");
  const keyed = keyedRegions(regionSecrets);
  if (keyed.some((name) => name === undefined || name === region || !regions.has(name))) {
    refuse("must have keys as `rollcall regions key` prints them, each of another region of REGIONS");
  }
  const isShared = regionSecrets.length > keyed.length;
  const others = [...regions.keys()].filter((name) => name !== region);
  if (regionSecrets.length > 0 && !isShared && others.some((name) => !keyed.includes(name))) {
    refuse("must have a shared secret, or a key of each other region of REGIONS");
  }
  return conflicts;
}
