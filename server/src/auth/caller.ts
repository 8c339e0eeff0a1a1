import { LRUCache } from "lru-cache";
import type { Database } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { ApiError } from "../errors.ts";
import type { Caller, ClientKind } from "../http/route.ts";
import type { Clock } from "../lib/clock.ts";
import type { Regions } from "../regions/regions.ts";
import { type Policies, type PolicyColumns, policyColumns } from "../tenancy/policies.ts";
import { readToken } from "./authorization.ts";
import type { TokenUses } from "./token-uses.ts";
import type { TokenClaims, Tokens } from "./tokens.ts";
import type { TokenUse } from "./user-tokens.ts";

/** Finds out who is calling, from the Authorization header. */
export interface Callers {
  /** Notices what other processes have revoked until now; to be called after a request arrived, before `authenticate`. */
  noticeRevocations(): void;
  /**
   * The caller; at once when the token is known and nothing has been revoked since it was last checked.
   *
   * @throws ApiError AuthAccessTokenInvalid, AuthUserAccessTokenRequired (at once or by rejecting)
   */
  authenticate(authorization: string | undefined, required: ClientKind): Caller | Promise<Caller>;
  statistics(): { readonly hits: number; readonly misses: number; readonly size: number };
  /** Something may have been revoked: every token is checked in the database before it is good again. */
  recheckAll(): void;
}

interface KnownToken {
  readonly claims: TokenClaims;
  /** The claims, with the policy that the database had when it last confirmed the token. */
  caller: Caller | undefined;
  readonly use: TokenUse & { usedAt: number };
  /** The value of `revision` when the database last confirmed the token; -1 for never. */
  confirmedAt: number;
}

/**
 * Opened tokens are kept, so that a known token costs a look-up in memory. Two things are checked on every request all
 * the same: its expiry, and that nothing has been revoked since the database confirmed it. Revocations of this process
 * move `revision` on; those of others show as foreign commits; PostgreSQL, which cannot show them, is asked every time.
 */
export function createCallers(
  services: {
    readonly tokens: Tokens;
    readonly tokenUses: TokenUses;
    readonly policies: Policies;
    readonly regions: Pick<Regions, "rootOfToken" | "rootOfHost">;
    readonly database: Database;
    readonly clock: Clock;
  },
  settings: { readonly authSchemes: readonly string[]; readonly tokenCacheItemsMax: number },
): Callers {
  const { tokens, tokenUses, policies, regions, database, clock } = services;
  const schemes = new Set(settings.authSchemes);
  const known = new LRUCache<string, KnownToken>({ max: settings.tokenCacheItemsMax });
  let revision = 0;
  let hits = 0;
  let misses = 0;

  function findToken(token: string): KnownToken {
    const found = known.get(token);
    if (found !== undefined) return found;
    const claims = tokens.open(token);
    if (claims === undefined) throw refuseToken(regions.rootOfToken(token));
    const { applicationId, userId = "", tokenId } = claims;
    return { claims, caller: undefined, confirmedAt: -1, use: { applicationId, userId, tokenId, usedAt: 0 } };
  }

  function noteUse({ claims, use }: KnownToken, now: number): void {
    if (claims.userId === undefined || now === use.usedAt) return;
    use.usedAt = now;
    tokenUses.note(use);
  }

  async function confirm(token: string, found: KnownToken, now: number): Promise<Caller> {
    const { claims } = found;
    const confirmedAt = revision; // read first: a revocation while we wait must not pass for confirmed
    const state = await findState(database, claims);
    if (state === undefined) {
      known.delete(token);
      throw refuseToken(await regions.rootOfHost(claims.applicationId)); // perhaps the application has moved
    }
    if (state.disabled_at !== null) {
      known.delete(token); // it is good again when the user is
      throw new ApiError("AuthUserAccountDisabled");
    }
    const policy = policies.of(claims.applicationId, state);
    if (found.caller?.policy !== policy) found.caller = { ...claims, policy };
    found.confirmedAt = confirmedAt;
    known.set(token, found);
    noteUse(found, now);
    return found.caller;
  }

  return {
    noticeRevocations() {
      if (database.hasForeignCommits()) revision += 1;
    },
    authenticate(authorization, required) {
      const token = readToken(authorization, schemes);
      if (token === undefined) throw new ApiError("AuthAccessTokenInvalid");
      const found = findToken(token);
      const now = clock.now();
      if (found.claims.tokenExpiresAt <= now) throw new ApiError("AuthAccessTokenInvalid");
      // Within a transaction that revokes something the memory is outdated already.
      if (found.caller === undefined || found.confirmedAt !== revision || database.hasUnsettled()) {
        misses += 1;
        return confirm(token, found, now).then((caller) => requireKind(caller, required));
      }
      hits += 1;
      noteUse(found, now);
      return requireKind(found.caller, required);
    },
    statistics: () => ({ hits, misses, size: known.size }),
    recheckAll() {
      revision += 1;
    },
  };
}

/** @param serviceRoot where the caller has to register, when that is elsewhere */
function refuseToken(serviceRoot: string | undefined): ApiError {
  return new ApiError("AuthAccessTokenInvalid", undefined, { serviceRoot });
}

function requireKind(caller: Caller, required: ClientKind): Caller {
  if (required === "user" && caller.userId === undefined) throw new ApiError("AuthUserAccessTokenRequired");
  return caller;
}

interface TokenState extends PolicyColumns {
  readonly user_version: number | null;
  readonly token_user_version: number | null;
  readonly disabled_at: number | null;
}

/** The whole kill tree in one statement: no row means that the application, its key or the device ended the token. */
const findAliveToken = prepare<
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
    .select(policyColumns),
);

/** @returns undefined when the token is dead */
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
