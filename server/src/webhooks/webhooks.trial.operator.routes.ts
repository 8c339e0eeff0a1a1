import { requireApplication } from "../auth/operated-application.ts";
import { named, Type } from "../contract/schema.ts";
import { lockRow } from "../db/lock.ts";
import type { WebhookRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { type AttemptResult, attemptDelivery } from "./webhooks.attempt.ts";
import { writeEnvelope } from "./webhooks.envelope.ts";
import { WebhookPath } from "./webhooks.operator.contract.ts";
import { requireWebhook } from "./webhooks.operator.routes.ts";
import { updateWebhook } from "./webhooks.store.ts";

const testsPerMinute = 6;
const minuteMs = 60_000;

export const TestResult = named(
  "WebhookTest",
  "The outcome of a test event.",
  Type.Object({
    status: Type.Optional(Type.Integer({ description: "Of the answer." })),
    ms: Type.Integer({ description: "Its duration." }),
    response: Type.Optional(Type.String({ description: "The first 1,024 characters of the answer." })),
    error: Type.Optional(Type.String({ description: "The reason for a missing answer." })),
  }),
);

const testWebhook = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/webhooks/{webhookId}/test",
  operation: "testWebhook",
  summary: "Send a test event to a webhook at once",
  description: "Once, in any state of the webhook; six in a minute.",
  tag: "Operators",
  caller: "operator",
  pathParameters: WebhookPath,
  status: 200,
  result: TestResult,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, webhookId } }, services) {
    const { database, webhookSealer, clock } = services;
    await requireApplication(appid, database.reads);
    const webhook = await requireWebhook(appid, webhookId, database.reads);
    const opened = webhookSealer.open(webhook, clock.now());
    if (opened === undefined) {
      throw new ApiError("ParameterOutOfRange", "The webhook needs its headers and a secret first.");
    }
    // Outside the transaction, which must neither stay open during the attempt nor roll back its count.
    const isAdmitted = await database.outsideTransaction("a test event is admitted", () => admit(webhook, services), {
      hasEffect: true,
    });
    if (!isAdmitted) {
      const message = "A webhook can be tested six times a minute.";
      throw new ApiError("RateLimitExceeded", message, { retryAfterSeconds: minuteMs / 1_000 });
    }
    const message = { ...newTestEvent(webhook, services), attempt: 1, isReplay: false };
    const attempt = () => attemptDelivery(webhook, opened, message, services);
    return present(await database.outsideTransaction(`test of ${webhookId}`, attempt, { hasEffect: true }));
  },
});

function admit({ application_id, id }: WebhookRow, { database, clock }: Services): Promise<boolean> {
  return database.write(async ({ queries }) => {
    await lockRow(database.dialect, "webhooks", application_id, id, queries);
    const { tests, tests_since } = await requireWebhook(application_id, id, queries);
    const now = clock.now();
    const isNew = now < tests_since || now >= tests_since + minuteMs;
    if (!isNew && tests >= testsPerMinute) return false;
    const columns = isNew ? { tests: 1, tests_since: now } : { tests: tests + 1 };
    await updateWebhook(application_id, id, columns, queries);
    return true;
  });
}

/** Returns an event that is in no log. */
function newTestEvent({ application_id, id: objectID }: WebhookRow, { ids, clock, serverUrl }: Services) {
  const at = clock.now();
  const id = ids.newId("Event");
  const shown = { id, type: "webhook.test", created: formatDate(at), objectID, sequence: "0".repeat(20) };
  return { id, body: writeEnvelope({ application_id, at }, shown, serverUrl()) };
}

function present({ outcome: _, holdMs: __, ms = 0, ...rest }: AttemptResult) {
  return { ...rest, ms };
}

/** Sends a test event (spec/webhooks#test-a-webhook). */
export const webhookTestOperations = [testWebhook];
