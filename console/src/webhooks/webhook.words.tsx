import type { Webhook, WebhookDelivery } from "../api/admin.ts";
import { known } from "../api/send.ts";
import { formatBounded, showInvisible } from "../lib/format.ts";
import { Status } from "../ui/status.tsx";

const states = {
  active: ["good", "Active"],
  paused: ["neutral", "Paused"],
  failing: ["warning", "Failing"],
  disabled: ["danger", "Disabled"],
} as const;

/** A webhook counts as failing after some time; before, it is active, and its last delivery may have failed. */
export function WebhookState({ webhook }: { readonly webhook: Webhook }) {
  const { state, lastSuccess, lastFailure } = webhook;
  const hasFailed =
    lastFailure !== undefined && (lastSuccess === undefined || lastFailure.getTime() > lastSuccess.getTime());
  if (state === "active" && hasFailed) return <Status kind="warning">Last one failed</Status>;
  const [kind, word] = states[known(state)];
  return <Status kind={kind}>{word}</Status>;
}

const deliveryStates = {
  waiting: ["neutral", "Waiting"],
  delivered: ["good", "Delivered"],
  failed: ["warning", "Failed, will be retried"],
  dead: ["danger", "Dead"],
  refused: ["danger", "Refused"],
} as const;

export function DeliveryState({ state }: Pick<WebhookDelivery, "state">) {
  const [kind, word] = deliveryStates[known(state)];
  return <Status kind={kind}>{word}</Status>;
}

/** The name of a webhook for operators: its own name, else the host of its URL. */
export function nameOf({ name, url }: Pick<Webhook, "name" | "url">): string {
  return showInvisible(name ?? url.replace(/^https?:\/\//, ""));
}

/** The server examines a part of the log. */
export function behindOf({ behind: { events, isAtLeast } }: Pick<Webhook, "behind">): string {
  return formatBounded(events, isAtLeast === true);
}
