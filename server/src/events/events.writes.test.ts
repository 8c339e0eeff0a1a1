// Runs on one engine: it asks which events a handler records, not how they are stored.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startValidCalls, type ValidCalls } from "../../test/valid-calls.ts";
import type { Route } from "../contract/route.ts";
import type { EventType } from "../event-log/event-types.ts";
import type { RevokedSubject } from "../event-log/revocations.ts";
import { ownedIdKinds } from "../lib/kinds.ts";

type RowType = EventType | `revocation.${RevokedSubject["kind"]}`;

/** The events and revocations that a successful call of each writing operation records (spec/events#types). */
const recorded: Readonly<Record<string, readonly RowType[]>> = {
  createUser: ["user.created", "user.signed_in"],
  renewToken: ["revocation.application"], // the first renewal of an application
  addIdentity: ["identity.added"],
  deleteIdentities: ["identity.removed"],
  createCrashReport: ["crash_group.opened"],
  flagLocation: ["location.flagged"],
  suspendApplication: ["application.suspended", "revocation.application"],
  resumeApplication: ["application.resumed", "revocation.application"],
  createApplicationKey: ["application.keys_changed"],
  retireApplicationKey: ["application.keys_changed", "revocation.key"],
  revokeKeyTokens: ["revocation.key"],
  revokeApplicationTokens: ["revocation.application"],
  replaceApplicationKeys: ["application.compromised", "revocation.application"],
  createOperatedUser: ["user.created"],
  disableUser: ["user.disabled", "revocation.user"],
  enableUser: ["user.enabled", "revocation.user"],
  endTokensOfUser: ["revocation.user", "user.signed_out"],
  changeDevice: ["device.changed"],
  changeUser: ["user.changed"],
  ...Object.fromEntries(
    ownedIdKinds.flatMap((kind) =>
      ["create", "change", "delete"].map((verb) => [`${verb}${kind}`, [`${kind.toLowerCase()}.${verb}d` as RowType]]),
    ),
  ),
  setProfilePicture: ["picture.created", "user.changed"],
  deleteProfilePicture: ["user.changed", "picture.deleted"],
  putMetadata: ["metadata.changed"],
  putManyMetadata: ["metadata.changed"],
  incrementMetadata: ["metadata.changed"],
  deleteMetadata: ["metadata.deleted"],
  deleteUser: ["user.deleted", "revocation.user"],
  createPublicLocation: ["location.created"],
  changePublicLocation: ["location.changed"],
  deletePublicLocation: ["location.deleted"],
  changeOperatedUser: ["user.changed"],
  eraseUser: ["user.deleted", "revocation.user"],
};

/** Writing operations that record no event in an application's log. */
const silent: readonly string[] = [
  ...["createMetricEvent", "createMetricEvents", "endMetricEvent", "requestPasswordReset", "createEventStream"],
  "requestEmailCode",
  "runBatch", // each item records its own
  ...["proveOperatorPassword", "createOperator", "changeOwnOperator", "changeOperator", "deleteOperator"],
  ...["deleteOperatorSession", "endOperatorSession", "endOperatorSessions"],
  ...["createApplication", "changeApplication", "deleteApplication", "changeApplicationKey"],
  ...["testMailSettings", "testOidcProvider", "exportUser", "sendPasswordReset"],
  ...["createTestDevice", "createTestUser", "changeCrashGroup"],
  ...["createWebhook", "changeWebhook", "deleteWebhook", "rotateWebhookSecret", "pauseWebhook", "resumeWebhook"],
  ...["redeliverWebhook", "repeatWebhookDelivery", "testWebhook"],
];

/** Operations that need more than a valid body to succeed; `events.accounts.test.ts` asserts their events. */
const refused: readonly string[] = [
  ...["loginUser", "loginSocialUser", "resetPassword", "verifyEmail", "deleteIdentity", "endToken", "logoutUser"],
  ...["endTokenOfUser", "endTokensOfDevice", "putApplicationSettings", "changeApplicationSettings"],
  ...["putSigningSecret", "deleteSigningSecret"],
];

let calls: ValidCalls;
before(async () => {
  calls = await startValidCalls();
});
after(() => calls.close());

describe("every writing operation: spec/events#types", () => {
  it("is listed here with its events, and records exactly those", async () => {
    const { app, application } = calls.test;
    const routes = app.routes.filter(({ method, caller }) => method !== "GET" && caller !== "anyone");
    assert.deepEqual(
      routes.map(({ operation }) => operation).toSorted(),
      [...Object.keys(recorded), ...silent, ...refused].toSorted(),
      "add a new operation to one of the lists, and record its events",
    );
    const create = routes.find(({ operation }) => operation === "createOperatedUser");
    assert.ok(create);
    const created = await calls.call(create, calls.pathOf(create), calls.bodyWith(create, "none", "1"));
    const userId: string = created.body.result.id;
    const operatedId = calls.pathOf(create).split("/")[4] ?? "";
    const applications = [application.appid, operatedId];
    for (const id of applications) await app.eventLog.findEnd(id);

    for (const route of routes.toSorted((a, b) => harmOf(a) - harmOf(b))) {
      const { operation, caller } = route;
      await forgetEvents(applications);
      const path = calls.pathOf(route, caller === "operator" ? { userId } : {});
      const confirm = operation === "eraseUser" ? { name: "confirm", json: JSON.stringify(userId) } : undefined;
      const { name, json } = confirm ?? { name: "none", json: "1" };
      const body = route.parameters === undefined ? undefined : calls.bodyWith(route, name, json);
      const { status } = await calls.call(route, path, body);
      const types = recorded[operation];
      assert.ok(status < 300 || types === undefined, `${operation} answered ${status}`);
      assert.deepEqual(await typesOf(applications), types ?? [], operation);
    }
  });
});

/** Orders calls, so that those which delete objects come last. */
function harmOf({ method, operation, path }: Route): number {
  if (operation === "deleteUser") return 2;
  if (operation === "logoutUser") return 3;
  if (method !== "DELETE") return 0;
  return /^\/_\/api\/(?!applications\/\{appid\}\/locations)/.test(path) && operation !== "eraseUser" ? 4 : 1;
}

async function forgetEvents(applications: readonly string[]): Promise<void> {
  await calls.test.app.database.write(({ queries }) =>
    queries.deleteFrom("events").where("application_id", "in", applications).execute(),
  );
}

async function typesOf(applications: readonly string[]): Promise<string[]> {
  const rows = await calls.test.app.database.reads
    .selectFrom("events")
    .select("type")
    .where("application_id", "in", applications)
    .orderBy("number")
    .execute();
  return rows.map(({ type }) => type);
}
