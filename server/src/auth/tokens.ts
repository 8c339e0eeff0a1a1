import type { Caller, UserCaller } from "../contract/route.ts";
import type { NewUserTokenRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import { formatDate } from "../lib/dates.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { createSealer } from "../lib/seal.ts";
import type { Secrets } from "../lib/secret-ring.ts";

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
  readonly row: NewUserTokenRow;
}

/** The device that a token is issued for, with the application's token lifetimes. */
type DeviceSubject = Pick<Caller, "applicationId" | "applicationKeyId" | "deviceId" | "versions" | "isTest"> & {
  readonly policy: Pick<Caller["policy"], "tokenLifetimes">;
};

/** Issues and opens access tokens (spec/authentication#tokens). */
export interface Tokens {
  /** @param tokenId an id reserved for this token; a new one by default */
  issueDeviceToken(device: DeviceSubject, tokenId?: string): IssuedToken;
  /** @param user with the version that was read before its credentials were checked */
  issueUserToken(device: DeviceSubject, user: { id: string; tokenVersion: number }): IssuedUserToken;
  /** The successor of the caller's token, under the same id and versions. */
  renewUserToken(caller: UserCaller, expiresAt: number): IssuedToken;
  /** How long a new user token of an application lives. */
  userLifetimeMs(policy: DeviceSubject["policy"]): number;
  /**
   * The claims, or undefined when the token is forged, altered or of another region. The caller must check the expiry.
   */
  open(token: string): TokenClaims | undefined;
}

/**
 * A token is `<region>.<sealed claims>`. The region is readable, so that other regions can redirect its client, and is
 * bound to the seal; only this deployment can read the rest.
 */
export function createTokens(
  settings: {
    readonly secrets: Secrets;
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
      ...(device.isTest && { isTest: true }),
    };
    return { token: present(claims), claims };
  }

  function present(claims: TokenClaims): IssuedToken {
    return {
      accessToken: `${region}.${sealer.seal(writeClaims(claims), region)}`,
      accessTokenExpires: formatDate(claims.tokenExpiresAt),
    };
  }

  const userLifetimeMs = ({ tokenLifetimes }: DeviceSubject["policy"]) =>
    tokenLifetimes.userMs ?? settings.userTokenLifetimeMs;

  return {
    issueDeviceToken(device, tokenId) {
      const lifetimeMs = device.policy.tokenLifetimes.deviceMs ?? settings.deviceTokenLifetimeMs;
      return issue(device, undefined, lifetimeMs, tokenId).token;
    },

    issueUserToken(device, user) {
      const { token, claims } = issue(device, user.id, userLifetimeMs(device.policy));
      const row: NewUserTokenRow = {
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

    userLifetimeMs,
    renewUserToken: ({ renewals = 0, ...caller }, expiresAt) =>
      present({ ...caller, issuedAt: clock.now(), tokenExpiresAt: expiresAt, renewals: renewals + 1 }),

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
    ...(claims.renewals === undefined && !claims.isTest ? [] : [claims.renewals ?? 0]),
    ...(claims.isTest ? [1] : []),
  ]);
}

type WrittenClaims = [
  ...[string, string, string, string | null, string, number, number, number, number, number],
  renewals?: number,
  isTest?: 1,
];

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
    ...(written[10] !== undefined && { renewals: written[10] }),
    ...(written[11] === 1 && { isTest: true }),
  };
}
