import type { Caller, ClientKind } from "../contract/route.ts";
import type { Database } from "../db/database.ts";
import { prepareLookup } from "../db/prepared.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError, errorRow } from "../lib/errors.ts";
import { LruMap } from "../lib/lru-map.ts";
import type { Regions } from "../regions/regions.ts";
import { type Policies, type PolicyColumns, policyColumns } from "../tenancy/policies.ts";
import { readToken } from "./authorization.ts";
import { deviceUseMs } from "./last-uses.ts";
import { overlapMs, storeFirstUse, supersededAt } from "./token-renewals.ts";
import type { TokenUses } from "./token-uses.ts";
import type { TokenClaims, Tokens } from "./tokens.ts";
import type { TokenUse } from "./user-tokens.ts";

/** Identifies the caller from the Authorization header. */
export interface Callers {
  /** Detects revocations by other processes; must run after a request has arrived and before `authenticate`. */
  noticeRevocations(): void;
  /**
   * Returns the caller; synchronously when the token is cached and nothing was revoked since its last check.
   *
   * @throws ApiError AuthAccessTokenInvalid, AuthUserAccessTokenRequired (synchronously or by rejecting)
   */
  authenticate(authorization: string | undefined, required: ClientKind): Caller | Promise<Caller>;
  statistics(): { readonly hits: number; readonly misses: number; readonly size: number };
  /** Makes every token be checked in the database again, because some may have been revoked. */
  invalidateTokenCache(): void;
}

interface CachedToken {
  readonly claims: TokenClaims;
  /** The claims, with the policy that the database returned when it last confirmed the token. */
  caller: Caller | undefined;
  readonly use: TokenUse & { usedAt: number };
  /** The time from which the next use of the device must be recorded. */
  deviceDueAt: number;
  /** The value of `revision` when the database last confirmed the token; -1 if never. */
  confirmedAt: number;
  /** The revision of the application at the last complete check of the token. */
  applicationRevision: string;
  /** When the token needs a complete check again, because its successor may have superseded it. */
  recheckAt: number;
}

/**
 * Caches opened tokens, so that a cached token costs a lookup in memory. Each request still checks its expiry, and that
 * nothing was revoked since the database confirmed it: a revocation by this process increments `revision`; one by
 * another process shows as a foreign commit and changes the revision of the application. PostgreSQL shows no foreign
 * commits, so there the revision is read for every request, once for all requests of a tick.
 */
export function createCallers(
  services: {
    readonly tokens: Tokens;
    readonly tokenUses: TokenUses;
    readonly policies: Policies;
    readonly regions: Pick<Regions, "rootOfToken" | "rootOfHost">;
    readonly database: Database;
    readonly clock: Clock;
    /** Deletes the session of a superseded token that is used again. */
    endReused(claims: TokenClaims): Promise<void>;
  },
  settings: { readonly authSchemes: readonly string[]; readonly tokenCacheItemsMax: number },
): Callers {
  const { tokens, tokenUses, policies, regions, database, clock } = services;
  const schemes = new Set(settings.authSchemes);
  const cache = new LruMap<string, CachedToken>(settings.tokenCacheItemsMax);
  let revision = 0;
  let hits = 0;
  let misses = 0;

  function findToken(token: string): CachedToken {
    const found = cache.get(token);
    if (found !== undefined) return found;
    const claims = tokens.open(token);
    if (claims === undefined) throw refuseToken("unknown", regions.rootOfToken(token));
    return unconfirmed(claims);
  }

  async function confirm(token: string, found: CachedToken, now: number): Promise<Caller> {
    const { claims } = found;
    const confirmedAt = revision; // read first: a revocation during the query must not count as confirmed
    if (found.caller !== undefined && found.recheckAt > now && (await isUnchanged(database, found))) {
      found.confirmedAt = confirmedAt;
      noteUse(found, now, tokenUses);
      return found.caller;
    }
    const state = await findState(database, claims);
    if (state === undefined) {
      cache.delete(token);
      throw refuseToken("ended", await regions.rootOfHost(claims.applicationId), claims); // the application may have moved
    }
    if (state.disabled_at !== null) {
      cache.delete(token); // it becomes valid again when the user is enabled
      throw new ApiError("AuthUserAccountDisabled", undefined, { refused: claims });
    }
    const endsAt = supersededAt(claims.renewals, state.first_uses);
    if (endsAt <= now) {
      cache.delete(token);
      if (policies.of(claims.applicationId, state).tokenLifetimes.endOnReuse) await services.endReused(claims);
      throw refuseToken("ended", undefined, claims);
    }
    const isStored = await storeFirstUse(claims, state.first_uses, now, database);
    const isRenewable = state.renews_tokens === 1 && claims.userId !== undefined;
    const policy = policies.of(claims.applicationId, state);
    if (found.caller?.policy !== policy) found.caller = { ...claims, policy };
    found.confirmedAt = confirmedAt;
    found.applicationRevision = state.revision;
    // If another process stores the first use of the successor from now on, this token expires after the overlap.
    if (isStored) found.recheckAt = isRenewable ? Math.min(endsAt, now + overlapMs) : Number.POSITIVE_INFINITY;
    cache.set(token, found);
    noteUse(found, now, tokenUses);
    return found.caller;
  }

  return {
    noticeRevocations() {
      if (database.hasForeignCommits()) revision += 1;
    },
    authenticate(authorization, required) {
      const token = readToken(authorization, schemes);
      if (token === undefined) throw refuseToken("missing");
      const found = findToken(token);
      const now = clock.now();
      if (found.claims.tokenExpiresAt <= now) throw refuseToken("expired", undefined, found.claims);
      // A transaction that revokes something has already invalidated the cache.
      if (
        found.caller === undefined ||
        found.confirmedAt !== revision ||
        found.recheckAt <= now ||
        database.hasPendingEffects()
      ) {
        misses += 1;
        return confirm(token, found, now).then((caller) => requireKind(caller, required));
      }
      hits += 1;
      noteUse(found, now, tokenUses);
      return requireKind(found.caller, required);
    },
    statistics: () => ({ hits, misses, size: cache.size }),
    invalidateTokenCache() {
      revision += 1;
    },
  };
}

function unconfirmed(claims: TokenClaims): CachedToken {
  const { applicationId, userId = "", tokenId } = claims;
  const use = { applicationId, userId, tokenId, usedAt: 0 };
  // A device token is issued by a registration, which stores its time.
  const deviceDueAt = claims.userId === undefined ? claims.issuedAt + deviceUseMs : 0;
  return { claims, caller: undefined, confirmedAt: -1, applicationRevision: "", recheckAt: 0, use, deviceDueAt };
}

function noteUse(found: CachedToken, now: number, tokenUses: TokenUses): void {
  const { claims, use } = found;
  if (now >= found.deviceDueAt) {
    found.deviceDueAt = now + deviceUseMs;
    tokenUses.noteDevice({ applicationId: claims.applicationId, deviceId: claims.deviceId, usedAt: now });
  }
  if (claims.userId === undefined || now === use.usedAt) return;
  use.usedAt = now;
  tokenUses.note(use);
}

/** Only tokens that this server issued get a reason; all others are refused as unknown without a lookup. */
const refusals = {
  missing: "The Authorization header holds no token. Send Authorization: Service <token>.",
  unknown: "The token is unknown.",
  expired: "The token has expired.",
  ended: "The token has been ended.",
};

/**
 * @param serviceRoot where the client has to register, when the application is in another region
 * @param refused the claims of a genuine token
 */
function refuseToken(reason: keyof typeof refusals, serviceRoot?: string, refused?: TokenClaims): ApiError {
  const text = serviceRoot === undefined ? refusals[reason] : "The token belongs to another region.";
  return new ApiError("AuthAccessTokenInvalid", `${errorRow("AuthAccessTokenInvalid").message} ${text}`, {
    serviceRoot,
    refused: serviceRoot === undefined ? refused : undefined,
  });
}

function requireKind(caller: Caller, required: ClientKind): Caller {
  if (required === "user" && caller.userId === undefined) {
    throw new ApiError("AuthUserAccessTokenRequired", undefined, { refused: caller });
  }
  return caller;
}

export const findRevision = prepareLookup<{ applicationId: string }, { revision: string }>((queries, parameter) =>
  queries
    .selectFrom("applications")
    .where("application_id", "=", parameter("applicationId"))
    .where("deleted_at", "is", null)
    .select("revision"),
);

/** Whether everything that the token depends on is unchanged since its last check. */
async function isUnchanged(database: Database, { claims, applicationRevision }: CachedToken): Promise<boolean> {
  const [row] = await findRevision(database.reads, { applicationId: claims.applicationId });
  return row?.revision === applicationRevision;
}

interface TokenState extends PolicyColumns {
  readonly revision: string;
  readonly user_version: number | null;
  readonly token_user_version: number | null;
  readonly disabled_at: number | null;
  readonly renews_tokens: number;
  readonly first_uses: string | null;
}

/**
 * Checks the complete kill tree in one statement: no row means that the application, its key or the device revoked the
 * token.
 */
const findAliveToken = prepareLookup<
  {
    applicationId: string;
    keyId: string;
    deviceId: string;
    userId: string;
    tokenId: string;
    applicationVersion: number;
    keyVersion: number;
    deviceVersion: number;
  },
  TokenState
>((queries, parameter) =>
  queries
    .selectFrom("applications as application")
    .innerJoin("application_keys as key", "key.application_id", "application.application_id")
    .innerJoin("devices as device", "device.application_id", "application.application_id")
    .leftJoin("users as user", (join) =>
      join.onRef("user.application_id", "=", "application.application_id").on("user.id", "=", parameter("userId")),
    )
    .leftJoin("user_tokens as token", (join) =>
      join
        .onRef("token.application_id", "=", "application.application_id")
        .on("token.user_id", "=", parameter("userId"))
        .on("token.id", "=", parameter("tokenId")),
    )
    .where("application.application_id", "=", parameter("applicationId"))
    .where("application.token_version", "=", parameter("applicationVersion"))
    .where("application.deleted_at", "is", null)
    .where("key.id", "=", parameter("keyId"))
    .where("key.token_version", "=", parameter("keyVersion"))
    .where("device.id", "=", parameter("deviceId"))
    .where("device.token_version", "=", parameter("deviceVersion"))
    .select(["user.token_version as user_version", "user.disabled_at", "token.user_version as token_user_version"])
    .select(["token.first_uses", "application.renews_tokens", "application.revision", ...policyColumns]),
);

/** @returns undefined when the token was revoked */
async function findState(database: Database, claims: TokenClaims): Promise<TokenState | undefined> {
  const [row] = await findAliveToken(database.reads, {
    applicationId: claims.applicationId,
    keyId: claims.applicationKeyId,
    deviceId: claims.deviceId,
    userId: claims.userId ?? "",
    tokenId: claims.tokenId,
    applicationVersion: claims.versions.application,
    keyVersion: claims.versions.key,
    deviceVersion: claims.versions.device,
  });
  if (row === undefined || claims.userId === undefined) return row;
  return row.user_version !== null && row.user_version === row.token_user_version ? row : undefined;
}
