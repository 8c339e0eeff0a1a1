import type { Config } from "../config/config.ts";
import { build } from "../config/version.ts";
import { openSnapshot } from "../db/open.ts";
import type { Clock } from "../lib/clock.ts";
import { listFingerprints, listSecrets, type Secrets } from "../lib/secret-ring.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import { type ArchiveProgress, writeArchive } from "./archive.ts";
import { type ArchiveEnd, secretName } from "./format.ts";
import { archivedTables } from "./tables.ts";
import type { Throttle } from "./throttle.ts";

export interface BackupOptions {
  /** Omits the bytes of files. */
  readonly isWithoutFiles?: boolean;
  readonly onProgress?: (progress: ArchiveProgress) => void;
}

/**
 * Yields the bytes of a backup of the deployment, which may be running. The backup contains every write that was answered
 * before this call. It contains the secrets if they are stored in DATA_DIR, and only their fingerprints if they come
 * from the environment.
 */
export async function* backUp(
  config: Pick<Config, "databaseUrl" | "region" | "secrets">,
  services: {
    readonly bytes: ByteStore;
    readonly clock: Clock;
    readonly secrets: Secrets;
    readonly bufferFolder?: string;
    readonly throttle?: Throttle | undefined;
  },
  { isWithoutFiles = false, onProgress }: BackupOptions = {},
): AsyncGenerator<Uint8Array, ArchiveEnd> {
  const { databaseUrl, region } = config;
  const { clock } = services;
  const secrets = listSecrets(services.secrets);
  const head = {
    format: "rollcall-archive",
    version: 1,
    kind: "backup",
    created: new Date(clock.now()).toISOString(),
    release: build,
    region,
    secrets: listFingerprints(services.secrets),
    isWithoutFiles,
  } as const;
  const isInDataDir = config.secrets === undefined;
  const extras = isInDataDir ? [{ name: secretName, content: Buffer.from(`${secrets.join("\n")}\n`) }] : [];
  const snapshot = await openSnapshot(databaseUrl);
  return yield* writeArchive(
    snapshot,
    { head, tables: archivedTables, extras },
    { ...services, databaseUrl },
    onProgress,
  );
}
