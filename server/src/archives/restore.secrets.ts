import { existsSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { PlainFailure } from "../config/failure.ts";
import { readSecretFile, secretFile, secretLines } from "../config/server-secret.ts";
import { fingerprintOf } from "../lib/secret-ring.ts";
import type { ArchiveHead } from "./format.ts";

/**
 * Makes sure that the restored deployment can unseal the data of the archived one.
 *
 * @param archived the file `secret` of the archive, if its secrets were stored in DATA_DIR
 * @returns the new content of the file `secret` in DATA_DIR, if any
 * @throws PlainFailure if the secrets differ
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
  if (kind === "application" || isOtherSecret) return undefined; // an export has no secret of its own
  const file = secretFile(config.dataDir);
  const there = config.secrets ?? (existsSync(file) ? readSecretFile(file) : undefined);
  const isSame = there?.some((secret) => fingerprintOf(secret) === wanted[0]) === true;
  if (isSame) return undefined;
  const givenUp =
    "With --other-secret it is restored anyway: then all tokens become invalid, users and operators have to sign in again";
  if (archived === undefined) {
    throw new PlainFailure(
      `The secret of this backup came from its environment: set ROLLCALL_SECRET to the same value.\n${givenUp}, and shared secrets of signed requests and \`mail.smtpUrl\` have to be set again.`,
    );
  }
  if (config.secrets !== undefined) {
    throw new PlainFailure(
      `ROLLCALL_SECRET is not the secret of this backup, which \`tar -xOf FILE secret\` prints.\n${givenUp}, and shared secrets of signed requests and \`mail.smtpUrl\` have to be set again.`,
    );
  }
  if (there !== undefined && !isForced) {
    throw new PlainFailure(`${file} contains another secret. Use --force to replace it.`);
  }
  if (secretLines(archived).length === 0) throw new PlainFailure("The backup contains no secret");
  return archived;
}
