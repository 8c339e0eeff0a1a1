import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import {
  deleteWebhook,
  type RotatedWebhookSecret,
  redeliverWebhook,
  rotateWebhookSecret,
  type Webhook,
  type WebhookTest,
} from "../api/admin.ts";
import { send } from "../api/send.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import { Button } from "../ui/button.tsx";
import { DangerDialog } from "../ui/danger-dialog.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { Dialog, DialogActions } from "../ui/dialog.tsx";
import { SelectField } from "../ui/fields.tsx";
import { FormDialog } from "../ui/form-dialog.tsx";
import { SecretOnce } from "../ui/secret-once.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import { showToast } from "../ui/toast.tsx";
import { useRefreshWebhooks } from "./webhook.forms.tsx";
import { Response } from "./webhook.response.tsx";
import { behindOf, nameOf } from "./webhook.words.tsx";

interface DialogProps {
  readonly appid: string;
  readonly webhook: Webhook;
  readonly onClose: () => void;
}

const overlaps = [
  { value: "24", label: "24 hours" },
  { value: "0", label: "No time: the secret has leaked" },
  { value: "72", label: "3 days" },
  { value: "168", label: "7 days" },
];

/** Creates another secret; for some time both sign, so that the receiver can change over. */
export function RotateSecret({ appid, webhook: { id, secrets }, onClose }: DialogProps) {
  const [hours, setHours] = useState("24");
  const [rotated, setRotated] = useState<RotatedWebhookSecret>();
  const refresh = useRefreshWebhooks(appid);

  async function submit() {
    setRotated(await send(rotateWebhookSecret(appid, id, { overlapHours: Number(hours) })));
    await refresh();
  }

  if (rotated !== undefined) {
    return (
      <SecretOnce title="The new secret of the webhook" secret={rotated.secret} onClose={onClose}>
        {rotated.previousEnds !== undefined && (
          <p>
            The secret before signs, too, until <Time value={rotated.previousEnds} isExact />.
          </p>
        )}
      </SecretOnce>
    );
  }
  return (
    <FormDialog
      title="Rotate the secret?"
      lead={secrets.length > 1 ? <p>Two secrets are valid now: the older one ends at once.</p> : undefined}
      fields={["overlapHours"]}
      action="Rotate the secret"
      onSubmit={submit}
      onClose={onClose}
    >
      <SelectField
        label="The old secret stays valid for"
        name="overlapHours"
        value={hours}
        options={overlaps}
        onChange={setHours}
      />
    </FormDialog>
  );
}

interface TestedProps {
  readonly test: WebhookTest;
  readonly onClose: () => void;
}

/** The receiver's answer to a test event. */
export function TestedWebhook({ test: { status, ms, response, error }, onClose }: TestedProps) {
  const isAccepted = status !== undefined && status >= 200 && status < 300;
  return (
    <Dialog title="Test event" onClose={onClose}>
      <Status kind={isAccepted ? "good" : "warning"}>
        {isAccepted ? "The receiver has accepted it." : "The receiver has not accepted it."}
      </Status>
      <DetailList
        items={[
          ["Answer", status ?? (error === undefined ? undefined : showInvisible(error))],
          ["Took", `${formatNumber(ms)} ms`],
        ]}
      />
      <Response text={response} />
      <DialogActions>
        <Button autoFocus onPress={onClose}>
          Close
        </Button>
      </DialogActions>
    </Dialog>
  );
}

export function DeleteWebhook({ appid, webhook, onClose }: DialogProps) {
  const navigate = useNavigate();
  const refresh = useRefreshWebhooks(appid);

  async function confirm() {
    await send(deleteWebhook(appid, webhook.id));
    await navigate({ to: "/apps/$appid/webhooks", params: { appid } });
    await refresh();
    showToast(`Deleted the webhook ${nameOf(webhook)}.`);
  }

  return (
    <DangerDialog
      title={`Delete the webhook ${nameOf(webhook)}?`}
      lead="Ends at once, and cannot be undone"
      typed={webhook.id}
      action="Delete the webhook"
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        <b>{behindOf(webhook)}</b> events that it has not sent are not sent any more. Its secret and its deliveries go
        with it.
      </p>
      <p>Does not end: the log of events, and other webhooks.</p>
    </DangerDialog>
  );
}

export function RedeliverDead({ appid, webhook: { id }, onClose }: DialogProps) {
  const refresh = useRefreshWebhooks(appid);

  async function confirm() {
    const { accepted } = await send(redeliverWebhook(appid, id));
    await refresh();
    showToast(accepted === 0 ? "No delivery is dead." : `Sending ${formatNumber(accepted)} events again.`);
  }

  return (
    <DangerDialog
      title="Send dead deliveries again?"
      lead="The receiver gets these events again"
      action="Send again"
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>The oldest 10,000 whose events are still in the log. The receiver knows them by their webhook-id.</p>
    </DangerDialog>
  );
}
