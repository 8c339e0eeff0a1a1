import { hkdfSync } from "node:crypto";

/** The secrets of a deployment: all open and verify, and one seals and signs. */
export interface SecretRing {
  /** Newest first. */
  readonly all: readonly string[];
  /** The index of the secret that seals and signs. */
  readonly sealing: number;
}

/** Secrets, newest first. In a list, the first one seals and signs. */
export type Secrets = readonly string[] | SecretRing;

/** The ring of a process, which changes its sealing secret during a rotation. */
export interface OwnSecrets extends SecretRing {
  /** Newest first. */
  readonly fingerprints: readonly [newest: string, ...older: string[]];
  /** Seals with the secret of this fingerprint from now on. @returns false if the ring does not have it */
  sealWith(fingerprint: string): boolean;
}

/**
 * @param all newest first; the first one seals until `sealWith` names another
 * @throws Error if `all` is empty
 */
export function createSecretRing(all: readonly string[]): OwnSecrets {
  const [newest, ...older] = all.map(fingerprintOf);
  if (newest === undefined) throw new Error("a secret is missing");
  const fingerprints = [newest, ...older] as const;
  let sealing = 0;
  return {
    all,
    fingerprints,
    get sealing() {
      return sealing;
    },
    sealWith(fingerprint) {
      const index = fingerprints.indexOf(fingerprint);
      if (index !== -1) sealing = index;
      return index !== -1;
    },
  };
}

export function listSecrets(secrets: Secrets): readonly string[] {
  return "all" in secrets ? secrets.all : secrets;
}

/** Values derived from each secret, newest first. */
export interface Derived<Value> {
  readonly all: readonly Value[];
  /** The value of the secret that currently seals and signs. */
  readonly sealing: Value;
}

/** @throws Error if `secrets` is empty */
export function deriveFromEach<Value>(secrets: Secrets, derive: (secret: string) => Value): Derived<Value> {
  const all = listSecrets(secrets).map(derive);
  if (all.length === 0) throw new Error("a secret is missing");
  return {
    all,
    get sealing() {
      return all["sealing" in secrets ? secrets.sealing : 0] as Value; // a valid index
    },
  };
}

/** Returns the fingerprints of secrets, starting with the secret that seals. */
export function listFingerprints(secrets: Secrets): readonly string[] {
  const { all, sealing } = deriveFromEach(secrets, fingerprintOf);
  return [sealing, ...all.filter((each) => each !== sealing)];
}

/** Identifies a secret without revealing it. */
export function fingerprintOf(secret: string): string {
  return Buffer.from(hkdfSync("sha256", secret, "rollcall", "archive fingerprint", 16)).toString("hex");
}
