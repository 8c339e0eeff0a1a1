import type { JWTPayload, JWTVerifyGetKey, JWTVerifyResult } from "jose";
import type { Log } from "../config/log.ts";
import { type Outgoing, OutgoingError } from "../http/outgoing/outgoing.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import { fieldsOf } from "../lib/fields.ts";
import { LruMap } from "../lib/lru-map.ts";
import type { GuardedProvider, OidcProvider } from "../tenancy/identity-provider.ts";

/** Verifies id_tokens (OpenID Connect Core 1.0, section 3.1.3.7). */
export interface IdTokens {
  /**
   * Returns the provider's claims about the subject, or the check that the token failed.
   *
   * @throws ApiError ServiceUnavailable when the provider's keys are unreachable
   */
  verify(idToken: string, subject: string, provider: GuardedProvider): Promise<VerifiedIdToken>;
  /** Fetches the provider's keys without the cache. */
  testKeys(provider: GuardedProvider): Promise<KeyTest>;
}

/** The number of keys that a provider has, or the reason for a failure. */
export interface KeyTest {
  readonly keys: number;
  readonly problem?: "unreachable" | "noKeys";
}

export type VerifiedIdToken = { readonly claims: JWTPayload } | { readonly failedCheck: IdTokenCheck };

/** The checks of an id_token, each as a sentence that follows "The id_token was refused: ". */
export const idTokenChecks = {
  format: "it is no signed JWT.",
  algorithm: "its algorithm (alg) is not one that is accepted.",
  key: "the keys at jwksUrl do not hold the one that it names (kid).",
  signature: "its signature is wrong.",
  typ: "it is another kind of token (typ).",
  iss: "its issuer (iss) is not the one that is set for the provider.",
  aud: "its audience (aud) is not the one that is set for the provider.",
  azp: "it was issued to another party (azp).",
  sub: "its subject (sub) is not identityID.",
  exp: "it has expired, or does not say when it does (exp).",
  nbf: "it is not valid yet (nbf).",
  iat: "the time of its issue (iat) is no number, or in the future.",
} as const;
export type IdTokenCheck = keyof typeof idTokenChecks;

/** The error codes of jose that name no claim. */
const checksByCode: Readonly<Record<string, IdTokenCheck>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: "algorithm",
  ERR_JWKS_NO_MATCHING_KEY: "key",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "key",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "signature",
};

function failedCheckOf({ code = "", claim = "" }: { code?: string; claim?: string }): IdTokenCheck {
  // Its keys are the checks.
  return Object.hasOwn(idTokenChecks, claim) ? (claim as IdTokenCheck) : (checksByCode[code] ?? "format");
}

/** Asymmetric algorithms only: unlike unsigned or HMAC signatures, only the provider can make these. */
const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
const clockToleranceSeconds = 60;
const keyTimeoutMs = 5_000;
/** Key sets are a few kilobytes. */
const keyBytesMax = 262_144;
const urlsMax = 100;
/** An unknown key triggers an immediate fetch, which makes rotations seamless, but not more often than this. */
const refetchesPerMinute = 10;
const testTimeoutMs = 10_000;

export function createIdTokens(services: {
  readonly outgoing: Pick<Outgoing, "fetchBytes">;
  readonly clock: Clock;
  readonly log: Log;
}): IdTokens {
  const { outgoing, clock, log } = services;
  const keysByUrl = new LruMap<string, JWTVerifyGetKey>(urlsMax);

  async function keysOf({ jwksUrl, isPublicOnly }: GuardedProvider): Promise<JWTVerifyGetKey> {
    const { createRemoteJWKSet, customFetch, errors } = await loadJose();
    // Separate cache entries: an application must not use keys that it may not fetch itself.
    const cacheKey = `${isPublicOnly} ${jwksUrl}`;
    const known = keysByUrl.get(cacheKey);
    if (known !== undefined) return known;
    const bounds = { bytesMax: keyBytesMax, timeoutMs: keyTimeoutMs, acceptsType: isJsonType, isPublicOnly };
    const remote = createRemoteJWKSet(new URL(jwksUrl), {
      timeoutDuration: keyTimeoutMs * 2, // the fetch has its own timeout with a better message
      cooldownDuration: Number.POSITIVE_INFINITY, // the allowance below decides
      [customFetch]: async (url: string, { signal }: { readonly signal: AbortSignal }) => {
        try {
          return new Response(new Uint8Array(await outgoing.fetchBytes(url, { ...bounds, signal })));
        } catch (error) {
          throw new ApiError("ServiceUnavailable", undefined, { cause: error });
        }
      },
    });
    const mayRefetch = createAllowance(refetchesPerMinute, 60_000, clock);
    const keys: JWTVerifyGetKey = async (header, token) => {
      try {
        return await remote(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        if (!remote.reloading && !mayRefetch()) throw error;
        await remote.reload(); // or waits for a reload in progress
        return remote(header, token);
      }
    };
    keysByUrl.set(cacheKey, keys);
    return keys;
  }

  async function verifyNow(idToken: string, subject: string, provider: GuardedProvider): Promise<JWTPayload> {
    const { jwtVerify } = await loadJose();
    const verified = await jwtVerify(idToken, await keysOf(provider), {
      algorithms,
      issuer: provider.issuer,
      audience: provider.audience,
      subject,
      requiredClaims: ["exp"],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(clock.now()),
    });
    requireIdToken(verified, provider, clock.now());
    return verified.payload;
  }

  return {
    async testKeys({ jwksUrl, isPublicOnly }) {
      const bounds = { bytesMax: keyBytesMax, timeoutMs: testTimeoutMs, acceptsType: isJsonType, isPublicOnly };
      try {
        const keys = countKeys((await outgoing.fetchBytes(jwksUrl, bounds)).toString());
        return keys === 0 ? { keys, problem: "noKeys" } : { keys };
      } catch (error) {
        if (!(error instanceof OutgoingError)) throw error;
        return { keys: 0, problem: "unreachable" };
      }
    },

    async verify(idToken, subject, provider) {
      try {
        return { claims: await verifyNow(idToken, subject, provider) };
      } catch (error) {
        const failure = error as { code?: string; claim?: string }; // the fields of jose's errors
        const { code } = failure;
        if (error instanceof ApiError || unusableKeys.has(code ?? "")) {
          log.warn(
            { issuer: provider.issuer, url: provider.jwksUrl, reason: reasonOf(error) },
            "a provider's keys cannot be fetched",
          );
          throw new ApiError("ServiceUnavailable", "The keys of the identity provider cannot be reached. Try again.");
        }
        // The error itself is not logged, because it contains claims of the token.
        return { failedCheck: failedCheckOf(failure) };
      }
    },
  };
}

/** Loaded on first use: most deployments have no identity providers. */
function loadJose(): Promise<typeof import("jose")> {
  return import("jose");
}

/** The error codes of jose for unusable answers of the key server. */
const unusableKeys = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_INVALID", "ERR_JWKS_TIMEOUT"]);

/** The public keys of a key set (RFC 7517). */
function countKeys(text: string): number {
  try {
    const { keys } = fieldsOf(JSON.parse(text));
    return Array.isArray(keys) ? keys.filter((key) => publicKeyTypes.has(fieldsOf(key)["kty"])).length : 0;
  } catch {
    return 0;
  }
}

const publicKeyTypes: ReadonlySet<unknown> = new Set(["RSA", "EC", "OKP"]);

/** Providers send JSON; key sets in a repository or a bucket often come as plain text. */
function isJsonType(mediaType: string): boolean {
  return mediaType === "application/json" || mediaType.endsWith("+json") || mediaType === "text/plain";
}

function reasonOf(error: unknown): string {
  let reason = error;
  while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause;
  const { code, message } = fieldsOf(reason);
  return [code, message].filter((part) => typeof part === "string" && part !== "").join(": ");
}

/**
 * Checks that the token is an id_token, and that its only audience is this application; signature and claims do not
 * show this.
 */
function requireIdToken({ payload, protectedHeader }: JWTVerifyResult, { audience }: OidcProvider, now: number): void {
  // Access tokens, logout tokens and others declare their type (RFC 9068, RFC 8725 section 3.11).
  if (protectedHeader.typ?.toLowerCase().endsWith("+jwt")) throw refusal("typ");
  if (payload.iat !== undefined && payload.iat > now / 1_000 + clockToleranceSeconds) throw refusal("iat");
  const isForSeveral = Array.isArray(payload.aud) && payload.aud.length > 1;
  if (isForSeveral && payload["azp"] !== audience) throw refusal("azp");
}

function refusal(claim: string): Error {
  return Object.assign(new Error(), { claim });
}

/** @returns a function that takes one of `count` in each period; false when all are taken */
function createAllowance(count: number, periodMs: number, clock: Clock): () => boolean {
  let began = Number.NEGATIVE_INFINITY;
  let taken = 0;
  return () => {
    if (clock.now() >= began + periodMs) {
      began = clock.now();
      taken = 0;
    }
    taken += 1;
    return taken <= count;
  };
}
