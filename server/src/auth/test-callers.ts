import type { Caller } from "../contract/route.ts";
import type { Queries, Transaction } from "../db/database.ts";
import { ApiError } from "../lib/errors.ts";
import type { Services } from "../operations/services.ts";
import { policyColumns } from "../tenancy/policies.ts";

/** The tag of devices and users that operators make to try calls (spec/operators#test-devices-and-users). */
export const testTag = "console-test";

const tokenMs = 3_600_000;
const lifeMs = 86_400_000;
/** Per application, for devices and for users separately. */
const callersMax = 20;

/** The device of a test caller, with the values from which its tokens are issued. */
export type TestDevice = Pick<Caller, "applicationId" | "applicationKeyId" | "deviceId" | "versions" | "policy"> & {
  readonly isTest: true;
};

type TestServices = Pick<Services, "policies" | "revocations" | "clock" | "ids">;

/**
 * Stores a test device, with a user on it if there is one, and revokes the oldest one of its kind beyond the maximum.
 * An operator's action locks the application, so concurrent calls agree on the number.
 *
 * @throws ApiError ItemDoesNotExist if no key of the application registers devices
 */
export async function insertTestDevice(
  applicationId: string,
  userId: string | null,
  { policies, revocations, clock, ids }: TestServices,
  transaction: Transaction,
): Promise<TestDevice> {
  const { queries } = transaction;
  const { keyId, applicationVersion, keyVersion, ...columns } = await getNewestKey(applicationId, queries);
  await endOldest(applicationId, userId !== null, { revocations, now: clock.now() }, transaction);
  const deviceId = ids.newId("Device");
  const now = clock.now();
  await queries
    .insertInto("devices")
    .values({
      ...{ application_id: applicationId, id: deviceId, unique_id: null, platform: "console", tag: testTag },
      ...{ token_version: 0, created_at: now, modified_at: now, last_seen_at: now },
      ...{ key_id: null, registered_at: null }, // counts for no key
      ...{ model: null, os_version: null, app_version: null, push_token: null, push_token_by: null },
      ...{ connection_type: null, is_production: null, lat: null, lng: null },
    })
    .execute();
  await queries
    .insertInto("test_callers")
    .values({ application_id: applicationId, device_id: deviceId, user_id: userId, ends_at: now + lifeMs })
    .execute();
  const policy = policies.of(applicationId, columns);
  return {
    ...{ applicationId, applicationKeyId: keyId, deviceId, isTest: true },
    versions: { application: applicationVersion, key: keyVersion, device: 0 },
    policy: { ...policy, tokenLifetimes: { ...policy.tokenLifetimes, deviceMs: tokenMs, userMs: tokenMs } },
  };
}

async function getNewestKey(applicationId: string, queries: Queries) {
  const key = await queries
    .selectFrom("application_keys as key")
    .innerJoin("applications as application", "application.application_id", "key.application_id")
    .where("key.application_id", "=", applicationId)
    .where("application.deleted_at", "is", null)
    .where("key.retired_at", "is", null)
    .whereRef("key.generation", "=", "application.key_generation")
    .orderBy("key.id", "desc")
    .select(["key.id as keyId", "application.token_version as applicationVersion", "key.token_version as keyVersion"])
    .select(policyColumns)
    .executeTakeFirst();
  if (key === undefined) throw new ApiError("ItemDoesNotExist", "No key of the application registers devices.");
  return key;
}

async function endOldest(
  applicationId: string,
  hasUser: boolean,
  { revocations, now }: Pick<Services, "revocations"> & { readonly now: number },
  transaction: Transaction,
): Promise<void> {
  const live = await transaction.queries
    .selectFrom("test_callers")
    .select("device_id")
    .where("application_id", "=", applicationId)
    .where("user_id", hasUser ? "is not" : "is", null)
    .where("ends_at", ">", now)
    .orderBy("ends_at")
    .orderBy("device_id")
    .execute();
  for (const { device_id } of live.slice(0, Math.max(live.length - callersMax + 1, 0))) {
    await transaction.queries
      .updateTable("test_callers")
      .set({ ends_at: now })
      .where("application_id", "=", applicationId)
      .where("device_id", "=", device_id)
      .execute();
    await revocations.endDeviceTokens(applicationId, device_id, transaction);
  }
}

/** Lists expired test callers of all applications, for their erasure. */
export function listEndedTestCallers(now: number, count: number, queries: Queries) {
  return queries
    .selectFrom("test_callers")
    .select(["application_id", "device_id", "user_id"])
    .where("ends_at", "<=", now)
    .orderBy("ends_at")
    .limit(count)
    .execute();
}
