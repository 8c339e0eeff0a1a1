import { requireApplication } from "../auth/operated-application.ts";
import { isUser } from "../auth/operated-user.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { Impact, ImpactOfUserPath, presentImpact } from "./applications.impact.operator.contract.ts";
import { findImpact, type Subject } from "./applications.impact.store.ts";
import { KeyPath, KeysPath } from "./applications.keys.operator.contract.ts";
import { findKey } from "./applications.keys.store.ts";

const description = "Counts stop at 1,000. Devices are counted as active by the last use of their tokens.";

const applicationImpact = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/impact",
  operation: "getImpactOfApplication",
  summary: "Count the effects of ending all tokens of an application",
  description,
  tag: "Operators",
  caller: "operator",
  pathParameters: KeysPath,
  status: 200,
  result: Impact,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid } }, services) {
    await requireApplication(appid, services.database.reads);
    return present(appid, { kind: "application" }, services);
  },
});

const keyImpact = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/keys/{keyId}/impact",
  operation: "getImpactOfKey",
  summary: "Count the effects of ending the tokens of a key",
  description,
  tag: "Operators",
  caller: "operator",
  pathParameters: KeyPath,
  status: 200,
  result: Impact,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, keyId } }, services) {
    const { reads } = services.database;
    await requireApplication(appid, reads);
    if ((await findKey(appid, keyId, reads)) === undefined) throw new ApiError("ItemDoesNotExist");
    return present(appid, { kind: "key", id: keyId }, services);
  },
});

const userImpact = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/users/{userId}/impact",
  operation: "getImpactOfUser",
  summary: "Count the effects of ending the tokens of a user",
  description,
  tag: "Operators",
  caller: "operator",
  pathParameters: ImpactOfUserPath,
  status: 200,
  result: Impact,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, userId } }, services) {
    const { reads } = services.database;
    await requireApplication(appid, reads);
    if (!(await isUser(appid, userId, reads))) throw new ApiError("ItemDoesNotExist");
    return present(appid, { kind: "user", id: userId }, services);
  },
});

async function present(appid: string, subject: Subject, services: Services) {
  const { database, clock, tokenUses } = services;
  await tokenUses.save(); // otherwise a device that was active just now would count as idle
  const found = await findImpact(appid, subject, clock.now(), database.reads);
  return presentImpact(found, await readSignedShare(appid, subject, services));
}

/** Statistics are kept by key, not by user. */
async function readSignedShare(appid: string, subject: Subject, { statistics }: Services): Promise<number | undefined> {
  if (subject.kind === "user") return undefined;
  const keys = await statistics.readKeys(appid);
  const used = [...keys].filter(([keyId]) => subject.kind === "application" || keyId === subject.id);
  const [calls, signed] = [sumOf(used.map(([, each]) => each.calls)), sumOf(used.map(([, each]) => each.signed))];
  return calls === 0 ? undefined : Math.round((signed / calls) * 1_000) / 1_000;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((total, each) => total + each, 0);
}

/** The numbers that operators see before they end tokens. */
export const impactOperations = [applicationImpact, keyImpact, userImpact];
