import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type CreatedWebhook, changeWebhook, createWebhook, type Webhook, type WebhookFormat } from "../api/admin.ts";
import { refetch } from "../api/queries.ts";
import { known, send } from "../api/send.ts";
import { CallError } from "../lib/call-error.ts";
import { EventTypes } from "../shell/event-types.tsx";
import { useRole } from "../shell/session.ts";
import { Checkbox, FieldGroup, SelectField, TextField } from "../ui/fields.tsx";
import { FormDialog } from "../ui/form-dialog.tsx";
import { SecretOnce } from "../ui/secret-once.tsx";
import { showToast } from "../ui/toast.tsx";

interface FormProps {
  readonly appid: string;
  readonly onClose: () => void;
}

/** The fields of a webhook as strings. */
interface Draft {
  readonly url: string;
  readonly types: readonly string[];
  readonly name: string;
  readonly format: WebhookFormat;
  readonly headers: string;
  readonly concurrency: string;
  readonly timeoutMs: string;
  readonly perSecond: string;
  readonly trueLocations: boolean;
}

const fields = ["url", "types", "name", "format", "headers", "concurrency", "timeoutMs", "perSecond", "trueLocations"];

const newDraft: Draft = {
  url: "",
  types: ["*"],
  name: "",
  format: "standard",
  headers: "",
  concurrency: "4",
  timeoutMs: "15000",
  perSecond: "100",
  trueLocations: false,
};

/** Asks for the destination of the events, and shows the secret that signs them, only this once. */
export function AddWebhook({ appid, onClose }: FormProps) {
  const [draft, setDraft] = useState(newDraft);
  const [created, setCreated] = useState<CreatedWebhook>();
  const navigate = useNavigate();
  const refresh = useRefreshWebhooks(appid);

  async function submit() {
    setCreated(await send(createWebhook(appid, readDraft(draft))));
    await refresh();
  }

  if (created !== undefined) {
    const show = () => {
      onClose();
      void navigate({ to: "/apps/$appid/webhooks/$webhookId", params: { appid, webhookId: created.id } });
    };
    return (
      <SecretOnce title="The secret of the webhook" secret={created.secret} onClose={show}>
        <p>The receiver checks with it that an event comes from here: any library of Standard Webhooks does.</p>
      </SecretOnce>
    );
  }
  return (
    <FormDialog
      title="New webhook"
      lead={<p>It receives the events from now on.</p>}
      fields={fields}
      action="Create"
      onSubmit={submit}
      onClose={onClose}
    >
      <Fields
        draft={draft}
        onDraft={setDraft}
        headersHint="One to a line, such as Authorization: Bearer … Not shown again."
      />
    </FormDialog>
  );
}

interface EditProps extends FormProps {
  readonly webhook: Webhook;
}

export function EditWebhook({ appid, webhook, onClose }: EditProps) {
  const [before] = useState(() => draftOf(webhook));
  const [draft, setDraft] = useState(before);
  const refresh = useRefreshWebhooks(appid);

  async function submit() {
    const given = Object.entries(readDraft(draft));
    // Unchanged fields are not sent, because another operator may have changed them.
    const changed = given.filter(([name]) => isChanged(name as keyof Draft));
    if (changed.length > 0) await send(changeWebhook(appid, webhook.id, Object.fromEntries(changed)));
    await refresh();
    showToast("Saved the webhook.");
    onClose();
  }

  const isChanged = (name: keyof Draft) => `${draft[name]}`.trim() !== `${before[name]}`.trim();
  const names = webhook.headers.length === 0 ? "None are set" : `${webhook.headers.join(", ")} stay as they are`;
  return (
    <FormDialog title="Edit the webhook" fields={fields} action="Save" onSubmit={submit} onClose={onClose}>
      <Fields draft={draft} onDraft={setDraft} headersHint={`${names}. What is given here replaces all of them.`} />
    </FormDialog>
  );
}

interface FieldsProps {
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
  readonly headersHint: string;
}

function Fields({ draft, onDraft, headersHint }: FieldsProps) {
  const isOwner = useRole("owner");
  const field = (name: Exclude<keyof Draft, "types" | "trueLocations" | "format">) => ({
    name,
    value: draft[name],
    autoComplete: "off",
    onChange: (value: string) => onDraft({ ...draft, [name]: value }),
  });
  return (
    <>
      <TextField label="URL" type="url" placeholder="https://…" autoFocus isRequired {...field("url")} />
      <EventTypes
        label="Events"
        name="types"
        patterns={draft.types}
        onChange={(types) => onDraft({ ...draft, types })}
      />
      <TextField label="Name" hint="For operators. May be empty." {...field("name")} />
      <TextField label="Headers" hint={headersHint} isLong isCode rows={2} spellCheck="false" {...field("headers")} />
      <SelectField
        label="Content-Type"
        name="format"
        value={draft.format}
        options={[
          { value: "standard", label: "application/json" },
          { value: "cloudevents", label: "application/cloudevents+json" },
        ]}
        onChange={(format) => onDraft({ ...draft, format })}
      />
      <FieldGroup label="Pace" name="pace">
        <TextField label="At a time" inputMode="numeric" {...field("concurrency")} />
        <TextField label="A second" inputMode="numeric" {...field("perSecond")} />
        <TextField label="Time limit, ms" inputMode="numeric" {...field("timeoutMs")} />
      </FieldGroup>
      {isOwner && (
        <Checkbox isSelected={draft.trueLocations} onChange={(trueLocations) => onDraft({ ...draft, trueLocations })}>
          Send true locations, also of users who share shifted ones. This is written to the audit log.
        </Checkbox>
      )}
    </>
  );
}

function draftOf(webhook: Webhook): Draft {
  const { url, types, name = "", format, concurrency, timeoutMs, perSecond, trueLocations } = webhook;
  const numbers = {
    concurrency: String(concurrency),
    timeoutMs: String(timeoutMs),
    perSecond: String(perSecond),
  };
  return { url, types, name, format: known(format), headers: "", trueLocations, ...numbers };
}

/** @throws CallError that names the field */
function readDraft(draft: Draft) {
  const { url, types, name, format, trueLocations } = draft;
  return {
    url: url.trim(),
    types: [...types],
    name,
    format,
    headers: readHeaders(draft.headers),
    trueLocations,
    concurrency: readNumber("concurrency", draft.concurrency),
    timeoutMs: readNumber("timeoutMs", draft.timeoutMs),
    perSecond: readNumber("perSecond", draft.perSecond),
  };
}

function readNumber(parameter: string, text: string): number {
  if (/^\d{1,9}$/.test(text.trim())) return Number(text);
  throw unreadable(parameter, "A whole number, without separators.");
}

function readHeaders(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const pairs = lines.map((line) => /^([^:]+):(.*)$/.exec(line));
  if (pairs.includes(null)) throw unreadable("headers", "One to a line, such as Authorization: Bearer …");
  return Object.fromEntries(pairs.map((pair) => [pair?.[1]?.trim() ?? "", pair?.[2]?.trim() ?? ""]));
}

function unreadable(parameter: string, message: string): CallError {
  return new CallError(0, { error: "ParameterIncorrectFormat", parameter, message });
}

/** Loads the views of the application's webhooks again. */
export function useRefreshWebhooks(appid: string): () => Promise<void> {
  const queries = useQueryClient();
  return () => refetch(queries, ["webhooks", appid]);
}
