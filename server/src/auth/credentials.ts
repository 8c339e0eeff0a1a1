import type { ApplicationPolicy } from "../contract/policy.ts";
import type { Database } from "../db/database.ts";
import { prepareLookup } from "../db/prepared.ts";
import { digestSecret } from "../lib/secrets.ts";
import { type Policies, type PolicyColumns, policyColumns } from "../tenancy/policies.ts";

/** The application key of a registration, and the versions under which its tokens are issued. */
export interface ApplicationCredentials {
  readonly keyId: string;
  readonly applicationVersion: number;
  readonly keyVersion: number;
  readonly policy: ApplicationPolicy;
}

/** The credentials of an application id and key, or undefined when they do not match. */
export async function findCredentials(
  applicationId: string,
  applicationKey: string,
  { database, policies }: { readonly database: Database; readonly policies: Policies },
): Promise<ApplicationCredentials | undefined> {
  const [row] = await findKey(database.reads, { applicationId, digest: digestSecret(applicationKey) });
  return row && { ...row, policy: policies.of(applicationId, row) };
}

type FoundKey = Omit<ApplicationCredentials, "policy"> & PolicyColumns;

const findKey = prepareLookup<{ applicationId: string; digest: string }, FoundKey>((queries, parameter) =>
  queries
    .selectFrom("application_keys as key")
    .innerJoin("applications as application", "application.application_id", "key.application_id")
    .where("key.application_id", "=", parameter("applicationId"))
    .where("key.digest", "=", parameter("digest"))
    .where("application.deleted_at", "is", null)
    .where("key.retired_at", "is", null)
    .whereRef("key.generation", "=", "application.key_generation")
    .select(["key.id as keyId", "application.token_version as applicationVersion", "key.token_version as keyVersion"])
    .select(policyColumns),
);
