import type { Caller } from "../contract/route.ts";
import type { UserTokenRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import { formatDate } from "../lib/dates.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { createSealer } from "../lib/seal.ts";

/** The contents of a token. */
export interface TokenClaims extends Omit<Caller, "policy"> {
  readonly issuedAt: number;
}

/** A token as it is sent to the client. */
export interface IssuedToken {
  readonly accessToken: string;
  readonly accessTokenExpires: string;
}

/** A user token, and the row that makes it valid (`user-tokens.ts`). */
export interface IssuedUserToken {
  readonly token: IssuedToken;
  readonly row: UserTokenRow;
}

/** The device that a token is issued for, with the application's token lifetimes. */
type DeviceSubject = Pick<Caller, "applicationId" | "applicationKeyId" | "deviceId" | "versions"> & {
  readonly policy: Pick<Caller["policy"], "tokenLifetimes">;
};

/** Issues and opens access tokens (spec/authentication#tokens). */
export interface Tokens {
  /** @param tokenId an id reserved for this token; a new one by default */
  issueDeviceToken(device: DeviceSubject, tokenId?: string): IssuedToken;
  /** @param user with the version that was read before its credentials were checked */
  issueUserToken(device: DeviceSubject, user: { id: string; tokenVersion: number }): IssuedUserToken;
  /**
   * The claims, or undefined when the token is forged, altered or of another region. The caller must check the expiry.
   */
  open(token: string): TokenClaims | undefined;
}

/**
 * A token is `<region>.<sealed claims>`. The region is in clear, so that other regions can redirect its client, and is
 * bound to the seal; only this deployment can read the rest.
 */
export function createTokens(
  settings: {
    readonly secrets: readonly string[];
    readonly region: string;
    readonly deviceTokenLifetimeMs: number;
    readonly userTokenLifetimeMs: number;
  },
  clock: Clock,
  ids: IdGenerator,
): Tokens {
  const { region } = settings;
  const sealer = createSealer(settings.secrets, "access token");

  function issue(
    device: DeviceSubject,
    userId: string | undefined,
    lifetimeMs: number,
    tokenId = ids.newId("Token"),
  ): { token: IssuedToken; claims: TokenClaims } {
    const issuedAt = clock.now();
    const claims: TokenClaims = {
      applicationId: device.applicationId,
      applicationKeyId: device.applicationKeyId,
      deviceId: device.deviceId,
      userId,
      tokenId,
      issuedAt,
      tokenExpiresAt: issuedAt + lifetimeMs,
      versions: device.versions,
    };
    const token = {
      accessToken: `${region}.${sealer.seal(writeClaims(claims), region)}`,
      accessTokenExpires: formatDate(claims.tokenExpiresAt),
    };
    return { token, claims };
  }

  return {
    issueDeviceToken(device, tokenId) {
      const lifetimeMs = device.policy.tokenLifetimes.deviceMs ?? settings.deviceTokenLifetimeMs;
      return issue(device, undefined, lifetimeMs, tokenId).token;
    },

    issueUserToken(device, user) {
      const lifetimeMs = device.policy.tokenLifetimes.userMs ?? settings.userTokenLifetimeMs;
      const { token, claims } = issue(device, user.id, lifetimeMs);
      const row: UserTokenRow = {
        application_id: claims.applicationId,
        user_id: user.id,
        id: claims.tokenId,
        device_id: claims.deviceId,
        user_version: user.tokenVersion,
        created_at: claims.issuedAt,
        last_used_at: claims.issuedAt,
        expires_at: claims.tokenExpiresAt,
      };
      return { token, row };
    },

    open(token) {
      if (!token.startsWith(`${region}.`)) return undefined;
      const plain = sealer.open(token.slice(region.length + 1), region);
      return plain === undefined ? undefined : readClaims(plain);
    },
  };
}

// The seal authenticates the contents, so they need no validation.

function writeClaims(claims: TokenClaims): string {
  const { application, key, device } = claims.versions;
  return JSON.stringify([
    claims.applicationId,
    claims.applicationKeyId,
    claims.deviceId,
    claims.userId ?? null,
    claims.tokenId,
    claims.issuedAt,
    claims.tokenExpiresAt,
    application,
    key,
    device,
  ]);
}

type WrittenClaims = [string, string, string, string | null, string, number, number, number, number, number];

function readClaims(plain: string): TokenClaims {
  const written: WrittenClaims = JSON.parse(plain);
  return {
    applicationId: written[0],
    applicationKeyId: written[1],
    deviceId: written[2],
    userId: written[3] ?? undefined,
    tokenId: written[4],
    issuedAt: written[5],
    tokenExpiresAt: written[6],
    versions: { application: written[7], key: written[8], device: written[9] },
  };
}
