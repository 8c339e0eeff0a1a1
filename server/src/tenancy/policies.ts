import {
  type ApplicationPolicy,
  type Limit,
  movingError,
  type OperationPattern,
  type PolicyLimits,
  parseOperationPattern,
} from "../contract/policy.ts";
import type { Database, Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { LruMap } from "../lib/lru-map.ts";
import { OriginList } from "../lib/origins.ts";
import { createSealer } from "../lib/seal.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import { type ApplicationLimits, type GivenLimit, parseApplicationSettings } from "./application-settings.ts";
import { newRevision } from "./revision.ts";

/** The stored columns from which an application's policy is derived. */
export interface PolicyColumns {
  readonly settings: string;
  readonly signing_secret: string | null;
  readonly suspended_at: number | null;
  readonly moving_to: string | null;
}

/** Their references, for a table `application`. */
export const policyColumns = [
  "application.settings",
  "application.signing_secret",
  "application.suspended_at",
  "application.moving_to",
] as const;

/** The policies of applications, each derived once from its stored columns and cached until these change. */
export interface Policies {
  /**
   * Verifies after a write that the application was still served here.
   *
   * @throws ApiError ServiceUnavailable when the application moves to another region, or is gone
   */
  requireServed(applicationId: string): Promise<void>;
  of(applicationId: string, stored: PolicyColumns): ApplicationPolicy;
  /** @returns undefined when the application does not exist */
  load(applicationId: string): Promise<ApplicationPolicy | undefined>;
  /** Seals a shared secret for storage. */
  seal(applicationId: string, secret: string): string;
  /** Reseals the shared secret if it is sealed under an older secret. */
  resealOutdated(applicationId: string): Promise<void>;
}

interface Made extends PolicyColumns {
  readonly policy: ApplicationPolicy;
}

const policiesMax = 10_000;
const signingSecretPurpose = "signing secret";

export function createPolicies({ secrets, database }: { secrets: Secrets; database: Database }): Policies {
  const sealer = createSealer(secrets, signingSecretPurpose);
  const made = new LruMap<string, Made>(policiesMax);

  function of(applicationId: string, stored: PolicyColumns): ApplicationPolicy {
    const found = made.get(applicationId);
    if (found !== undefined && isSame(found, stored)) return found.policy;
    const { settings, signing_secret, suspended_at, moving_to } = stored;
    const policy = makePolicy(stored, signing_secret === null ? undefined : sealer.open(signing_secret, applicationId));
    made.set(applicationId, { settings, signing_secret, suspended_at, moving_to, policy });
    return policy;
  }

  async function load(applicationId: string): Promise<ApplicationPolicy | undefined> {
    const [stored] = await findStored(database.reads, { applicationId });
    return stored && of(applicationId, stored);
  }

  return {
    of,
    load,
    async requireServed(applicationId) {
      const policy = await load(applicationId);
      if (policy === undefined || policy.isMoving) throw movingError();
    },
    seal: (applicationId, secret) => sealer.seal(secret, applicationId),
    async resealOutdated(applicationId) {
      const [stored] = await findStored(database.reads, { applicationId });
      const sealed = stored?.signing_secret ?? null;
      if (sealed === null || sealer.isNewest(sealed)) return;
      const secret = sealer.open(sealed, applicationId);
      if (secret === undefined) return;
      await database.write(({ queries }) =>
        queries
          .updateTable("applications")
          .set({ signing_secret: sealer.seal(secret, applicationId) })
          .where("application_id", "=", applicationId)
          .where("signing_secret", "=", sealed) // only if it has not been replaced since
          .execute(),
      );
    },
  };
}

/** Seals a shared secret for storage. */
export function sealSigningSecret(applicationId: string, secret: string, secrets: Secrets): string {
  return createSealer(secrets, signingSecretPurpose).seal(secret, applicationId);
}

/** Decrypts a stored shared secret; undefined when it was sealed under none of these secrets. */
export function openSigningSecret(applicationId: string, sealed: string, secrets: Secrets): string | undefined {
  return createSealer(secrets, signingSecretPurpose).open(sealed, applicationId);
}

/** Whether the application has a shared secret for signed requests. */
export async function hasSigningSecret(applicationId: string, queries: Queries): Promise<boolean> {
  const row = await queries
    .selectFrom("applications")
    .select("signing_secret")
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
  return row !== undefined && row.signing_secret !== null;
}

/** Replaces or removes the shared secret of an application. @returns false when the application does not exist */
export async function updateSigningSecret(
  applicationId: string,
  sealed: string | null,
  queries: Queries,
): Promise<boolean> {
  const updated = await queries
    .updateTable("applications")
    .set({ signing_secret: sealed, revision: newRevision() })
    .where("application_id", "=", applicationId)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return updated.numUpdatedRows === 1n;
}

const findStored = prepare<{ applicationId: string }, PolicyColumns>((queries, parameter) =>
  queries
    .selectFrom("applications as application")
    .select(policyColumns)
    .where("application.application_id", "=", parameter("applicationId"))
    .where("application.deleted_at", "is", null),
);

function isSame(made: PolicyColumns, stored: PolicyColumns): boolean {
  return (
    made.settings === stored.settings &&
    made.signing_secret === stored.signing_secret &&
    made.suspended_at === stored.suspended_at &&
    made.moving_to === stored.moving_to
  );
}

function makePolicy(stored: PolicyColumns, secret: string | undefined): ApplicationPolicy {
  const {
    disabledOperations = [],
    origins,
    signedRequests,
    tokenLifetimes = {},
    limits = {},
    rehearsal,
    email = {},
    signIn = {},
    passwords = {},
    debug,
  } = parseApplicationSettings(stored.settings);
  return {
    isMoving: stored.moving_to !== null,
    isSuspended: stored.suspended_at !== null,
    disabledOperations: disabledOperations.map(parseOperationPattern).filter(isPattern),
    origins: origins === undefined ? undefined : new OriginList(origins),
    // An application whose secret cannot be decrypted must refuse calls instead of accepting unsigned ones.
    signing:
      secret === undefined && signedRequests !== "required"
        ? undefined
        : { secret: secret ?? "", isRequired: signedRequests === "required" },
    tokenLifetimes,
    limits: makeLimits(limits),
    allowsRehearsal: rehearsal === "on",
    email,
    signIn,
    passwords,
    isDebugged: debug === true,
  };
}

function makeLimits({ application, caller, streams, operations = {} }: Partial<ApplicationLimits>): PolicyLimits {
  return {
    ...(application && { application: limitOf(application) }),
    ...(caller && { caller: limitOf(caller) }),
    ...(streams !== undefined && { streams }),
    operations: Object.entries(operations).flatMap(([name, given]) => {
      const pattern = parseOperationPattern(name);
      return pattern === undefined ? [] : [{ name, pattern, limit: limitOf(given) }];
    }),
  };
}

/** The burst defaults to ten seconds' worth. */
function limitOf({ perSecond, burst = Math.max(1, Math.ceil(perSecond * 10)) }: GivenLimit): Limit {
  return { perSecond, burst };
}

function isPattern(pattern: OperationPattern | undefined): pattern is OperationPattern {
  return pattern !== undefined;
}
