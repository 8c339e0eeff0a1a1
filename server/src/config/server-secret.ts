import { randomUUID } from "node:crypto";
import { existsSync, linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fieldsOf } from "../lib/fields.ts";
import { makeFolder } from "../lib/folders.ts";
import { createSecretRing, type OwnSecrets } from "../lib/secret-ring.ts";
import { newServerSecret } from "../lib/secrets.ts";
import type { Config } from "./config.ts";
import { PlainFailure } from "./failure.ts";

type SecretSettings = Pick<Config, "secrets" | "dataDir">;

/**
 * Loads the secrets of a process, and seals with the current secret of its deployment.
 *
 * @param recorded the fingerprint of the deployment's current secret; undefined for a new deployment
 * @throws PlainFailure if the process does not have the deployment's secret
 */
export function openSecrets(config: SecretSettings, recorded: string | undefined): OwnSecrets {
  if (recorded !== undefined && config.secrets === undefined && !existsSync(secretFile(config.dataDir))) {
    throw new PlainFailure(
      `DATA_DIR: ${secretFile(config.dataDir)} is missing, and with it the secret of this deployment. Copy the file from a backup (\`tar -xOf FILE secret\`), or make a new secret: ${wayOut}`,
    );
  }
  const secrets = createSecretRing(loadSecrets(config));
  requireKnownSecret(recorded, secrets, config);
  return secrets;
}

/** Seals with the recorded secret. @throws PlainFailure if the process does not have it */
export function requireKnownSecret(recorded: string | undefined, secrets: OwnSecrets, config: SecretSettings): void {
  if (recorded === undefined || secrets.sealWith(recorded)) return;
  const where = config.secrets === undefined ? `DATA_DIR: ${secretFile(config.dataDir)} has` : "ROLLCALL_SECRET is";
  throw new PlainFailure(
    `${where} not the secret of this deployment. Set the one that its other processes have, or had before; to rotate it, put the new one first and keep the old one (new,old). To use another one nevertheless: ${wayOut}`,
  );
}

const wayOut =
  "`rollcall accept --new-secret`. Then all tokens end: users and operators must sign in again, and shared secrets of signed requests, `mail.smtpUrl` and secrets of webhooks must be set again.";

/**
 * Returns the secrets that seal tokens, newest first: from ROLLCALL_SECRET, or else the lines of the file `secret` in
 * DATA_DIR, which is created at its first use with mode 0600. To rotate, insert a new first line.
 */
export function loadSecrets(config: SecretSettings): readonly string[] {
  if (config.secrets !== undefined) return config.secrets;
  const file = secretFile(config.dataDir);
  if (!existsSync(file)) createSecretFile(config.dataDir, file);
  return readSecretFile(file);
}

/** Returns the path of the file with the secrets that are not in the environment. */
export function secretFile(dataDir: string): string {
  return join(dataDir, "secret");
}

/** @throws Error if the file contains no secret */
export function readSecretFile(file: string): readonly string[] {
  const lines = secretLines(readFileSync(file, "utf8"));
  if (lines.length === 0) throw new Error(`${file} holds no secret`);
  return lines;
}

/** Parses the content of a secret file. */
export function secretLines(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Replaces the secret file in DATA_DIR atomically. */
export function replaceSecretFile(dataDir: string, text: string): void {
  makeFolder(dataDir);
  const draft = `${secretFile(dataDir)}.${randomUUID()}`;
  writeFileSync(draft, text, { mode: 0o600, flag: "wx", flush: true });
  renameSync(draft, secretFile(dataDir));
}

/**
 * Creates the file atomically. When several processes start concurrently, one succeeds, because `link` never replaces a
 * file.
 */
function createSecretFile(dataDir: string, file: string): void {
  makeFolder(dataDir);
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, `${newServerSecret()}\n`, { mode: 0o600, flag: "wx", flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    if (fieldsOf(error).code !== "EEXIST") throw error;
  } finally {
    unlinkSync(draft);
  }
}
