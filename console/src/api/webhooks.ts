import type { Static } from "../../../server/src/contract/schema.ts";
import type {
  ChangeWebhook,
  CreateWebhook,
  ListDeliveries,
  TestResult,
  WebhookPage,
  WebhookResult,
  CreatedWebhook as WireCreatedWebhook,
  DeliveryPage as WireDeliveryPage,
  RotatedSecret as WireRotatedSecret,
} from "../../../server/src/webhooks/webhooks.operator.contract.ts";
import { operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type Webhook = Static<typeof WebhookResult>;
export type CreatedWebhook = Static<typeof WireCreatedWebhook>;
export type RotatedSecret = Static<typeof WireRotatedSecret>;
export type Delivery = Static<typeof WireDeliveryPage>["pageResults"][number];
export type WebhookTest = Static<typeof TestResult>;
export type WebhookFields = Static<typeof CreateWebhook>;

interface OfApplication {
  readonly appid: string;
}
export interface OfWebhook extends OfApplication {
  readonly webhookId: string;
}
interface OfDelivery extends OfWebhook {
  readonly deliveryId: string;
}

const webhooks = "/applications/{appid}/webhooks";
const webhook = `${webhooks}/{webhookId}`;
const fields = [
  "url",
  "types",
  "name",
  "format",
  "headers",
  "concurrency",
  "timeoutMs",
  "perSecond",
  "trueLocations",
] as const;

export const listWebhooks = operation<OfApplication & PageParameters, Static<typeof WebhookPage>>("GET", webhooks, [
  "appid",
  "pageSize",
  "pagingToken",
]);

export const createWebhook = operation<OfApplication & WebhookFields, CreatedWebhook>("POST", webhooks, [
  "appid",
  ...fields,
]);

export const getWebhook = operation<OfWebhook, Webhook>("GET", webhook, ["appid", "webhookId"]);

export const changeWebhook = operation<OfWebhook & Static<typeof ChangeWebhook>, Webhook>("PATCH", webhook, [
  "appid",
  "webhookId",
  ...fields,
]);

export const deleteWebhook = operation<OfWebhook, true>("DELETE", webhook, ["appid", "webhookId"]);

export const rotateWebhookSecret = operation<OfWebhook & { overlapHours?: number }, RotatedSecret>(
  "POST",
  `${webhook}/rotate-secret`,
  ["appid", "webhookId", "overlapHours"],
);

export const pauseWebhook = operation<OfWebhook, Webhook>("POST", `${webhook}/pause`, ["appid", "webhookId"]);

export const resumeWebhook = operation<OfWebhook & { from?: "stopped" | "now" }, Webhook>("POST", `${webhook}/resume`, [
  "appid",
  "webhookId",
  "from",
]);

/** Sends one test event immediately. */
export const testWebhook = operation<OfWebhook, WebhookTest>("POST", `${webhook}/test`, ["appid", "webhookId"]);

export type DeliveryFilters = Omit<Static<typeof ListDeliveries>, keyof PageParameters | "created" | "state"> & {
  readonly state?: string;
  readonly created?: string;
};

export const listDeliveries = operation<OfWebhook & DeliveryFilters & PageParameters, Static<typeof WireDeliveryPage>>(
  "GET",
  `${webhook}/deliveries`,
  ["appid", "webhookId", "state", "eventID", "type", "created", "pageSize", "pagingToken"],
);

/** Sends the event of one delivery again. */
export const repeatDelivery = operation<OfDelivery, Delivery>("POST", `${webhook}/deliveries/{deliveryId}/redeliver`, [
  "appid",
  "webhookId",
  "deliveryId",
]);

/** Sends dead and refused deliveries again, the oldest 10,000. */
export const redeliverWebhook = operation<OfWebhook & { state?: "dead" | "refused" }, { accepted: number }>(
  "POST",
  `${webhook}/redeliver`,
  ["appid", "webhookId", "state"],
);
