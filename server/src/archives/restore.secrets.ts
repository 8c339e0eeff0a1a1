import { existsSync } from "node:fs";
import type { Config } from "../config.ts";
import { PlainFailure } from "../failure.ts";
import { readSecretFile, secretFile, secretLines } from "../server-secret.ts";
import { type ArchiveHead, fingerprintOf } from "./format.ts";

/**
 * Sees to it that the restored deployment opens what the archived one has sealed.
 *
 * @param archived the file `secret` of the archive, where its secrets lay in DATA_DIR
 * @returns what is to become the file `secret` in DATA_DIR, if anything
 * @throws PlainFailure when it would not
 */
export function requireSecrets(
  { kind, secrets: wanted }: ArchiveHead,
  archived: string | undefined,
  options: {
    readonly config: Pick<Config, "secrets" | "dataDir">;
    readonly isForced: boolean;
    readonly isOtherSecret: boolean;
  },
): string | undefined {
  const { config, isForced, isOtherSecret } = options;
  if (kind === "application" || isOtherSecret) return undefined; // it has none of its own
  const file = secretFile(config.dataDir);
  const there = config.secrets ?? (existsSync(file) ? readSecretFile(file) : undefined);
  const isSame = there?.some((secret) => fingerprintOf(secret) === wanted[0]) === true;
  if (isSame) return undefined;
  const givenUp =
    "With --other-secret it is restored all the same: then every token is dead, users and operators sign in anew";
  if (archived === undefined) {
    throw new PlainFailure(
      `The secret of this backup came from its environment: set ROLLCALL_SECRET to what it was.\n${givenUp}, and shared secrets of signed requests have to be set anew.`,
    );
  }
  if (config.secrets !== undefined) {
    throw new PlainFailure(
      `ROLLCALL_SECRET is not the secret of this backup, which \`tar -xOf FILE secret\` prints.\n${givenUp}, and shared secrets of signed requests have to be set anew.`,
    );
  }
  if (there !== undefined && !isForced) {
    throw new PlainFailure(`There is another secret in ${file} already. With --force it is replaced.`);
  }
  if (secretLines(archived).length === 0) throw new PlainFailure("The backup holds no secret");
  return archived;
}
