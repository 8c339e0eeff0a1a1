import type { JWTPayload, JWTVerifyGetKey, JWTVerifyResult } from "jose";
import { LRUCache } from "lru-cache";
import { ApiError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../log.ts";

/** An OpenID Connect provider, as an application is configured for it. */
export interface OidcProvider {
  readonly issuer: string;
  /** The client id that the provider knows the application by. */
  readonly audience: string;
  readonly jwksUrl: string;
}

/** Checks id_tokens (OpenID Connect Core 1.0, section 3.1.3.7). */
export interface IdTokens {
  /**
   * What the provider says about the subject, or undefined when the token is not good; the log says why.
   *
   * @throws ApiError ServiceUnavailable when the provider's keys are out of reach
   */
  verify(idToken: string, subject: string, provider: OidcProvider): Promise<JWTPayload | undefined>;
}

/** Signatures that only the provider can make: none without a key, none with a key that the application shares. */
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
const urlsMax = 100;
/** An unknown key is asked for at once, so that a rotation is not noticed; but not more often than this. */
const refetchesPerMinute = 10;

export function createIdTokens({ clock, log }: { readonly clock: Clock; readonly log: Log }): IdTokens {
  const keysByUrl = new LRUCache<string, JWTVerifyGetKey>({ max: urlsMax });

  async function keysOf(url: string): Promise<JWTVerifyGetKey> {
    const { createRemoteJWKSet, customFetch, errors } = await loadJose();
    const known = keysByUrl.get(url);
    if (known !== undefined) return known;
    const remote = createRemoteJWKSet(new URL(url), {
      timeoutDuration: keyTimeoutMs,
      cooldownDuration: Number.POSITIVE_INFINITY, // we decide below
      [customFetch]: fetchKeys,
    });
    const mayRefetch = createAllowance(refetchesPerMinute, 60_000, clock);
    const keys: JWTVerifyGetKey = async (header, token) => {
      try {
        return await remote(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        if (!remote.reloading && !mayRefetch()) throw error;
        await remote.reload(); // or waits for the one that is under way
        return remote(header, token);
      }
    };
    keysByUrl.set(url, keys);
    return keys;
  }

  async function verifyNow(idToken: string, subject: string, provider: OidcProvider): Promise<JWTPayload> {
    const { jwtVerify } = await loadJose();
    const verified = await jwtVerify(idToken, await keysOf(provider.jwksUrl), {
      algorithms,
      issuer: provider.issuer,
      audience: provider.audience,
      subject,
      requiredClaims: ["exp"],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(clock.now()),
    });
    requireIdToken(verified, provider);
    return verified.payload;
  }

  return {
    async verify(idToken, subject, provider) {
      try {
        return await verifyNow(idToken, subject, provider);
      } catch (error) {
        const { code, claim } = error as { code?: string; claim?: string }; // jose's errors have them
        const issuer = provider.issuer;
        if (error instanceof ApiError || unusableKeys.has(code ?? "")) {
          log.warn({ issuer, url: provider.jwksUrl, reason: reasonOf(error) }, "a provider's keys are out of reach");
          throw new ApiError("ServiceUnavailable", "The keys of the identity provider are out of reach. Try again.");
        }
        // Not the error itself: it holds what the token says.
        log.info({ issuer, code, claim }, "an id_token was refused");
        return undefined;
      }
    },
  };
}

/** Loaded on first use: most deployments have no identity providers. */
function loadJose(): Promise<typeof import("jose")> {
  return import("jose");
}

/** Of jose's codes those that are about what the key server answered. */
const unusableKeys = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_INVALID", "ERR_JWKS_TIMEOUT"]);

/** Tells a key server that does not answer from everything else that can go wrong. */
async function fetchKeys(...request: Parameters<typeof fetch>): Promise<Response> {
  try {
    return await fetch(...request);
  } catch (error) {
    throw new ApiError("ServiceUnavailable", undefined, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  let reason = error;
  while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause;
  const { code, message } = reason as { code?: unknown; message?: unknown };
  return [code, message].filter((part) => typeof part === "string" && part !== "").join(": ");
}

/** What a good signature and good claims do not say: that it is an id_token, and that it was made for us alone. */
function requireIdToken({ payload, protectedHeader }: JWTVerifyResult, { audience }: OidcProvider): void {
  // Access tokens, logout tokens and others say what they are (RFC 9068, RFC 8725 section 3.11).
  if (protectedHeader.typ?.toLowerCase().endsWith("+jwt")) throw refusal("typ");
  const isForSeveral = Array.isArray(payload.aud) && payload.aud.length > 1;
  if (isForSeveral && payload["azp"] !== audience) throw refusal("azp");
}

function refusal(claim: string): Error {
  return Object.assign(new Error(), { claim });
}

/** @returns takes one of `count` in each period; false when all are taken */
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
