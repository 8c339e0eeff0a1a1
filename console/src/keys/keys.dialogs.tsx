import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { effectiveSettingsQuery } from "../api/effective-settings.ts";
import {
  type CreatedKey,
  createKey,
  createSigningSecret,
  deleteSigningSecret,
  getKeyImpact,
  type Key,
  relabelKey,
  replaceKeys,
  retireKey,
  revokeKeyTokens,
} from "../api/keys.ts";
import { provePassword } from "../api/sessions.ts";
import { showInvisible } from "../lib/format.ts";
import { explainLoss } from "../lib/lost-answer.ts";
import { ApplicationImpact } from "../shell/application.impact.tsx";
import { DangerDialog } from "../ui/danger-dialog.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { Problem, TextField } from "../ui/fields.tsx";
import { FormDialog } from "../ui/form-dialog.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { ImpactFacts } from "../ui/impact.tsx";
import { SecretOnce } from "../ui/secret-once.tsx";
import { showToast } from "../ui/toast.tsx";
import { nameOfKey } from "./key.names.ts";

interface DialogProps {
  readonly appid: string;
  readonly onClose: () => void;
}

interface KeyDialogProps extends DialogProps {
  readonly keyOfApp: Key;
}

export function CreateKey({ appid, onClose }: DialogProps) {
  const [label, setLabel] = useState("");
  const [created, setCreated] = useState<CreatedKey>();
  const refresh = useRefresh(appid);

  async function submit() {
    try {
      const create = () => createKey({ appid, ...(label !== "" && { label }) });
      setCreated(await explainLoss(create, "The key may exist all the same: look for it in the list, and retire it."));
    } finally {
      await refresh();
    }
  }

  if (created !== undefined) return <NewKey appid={appid} created={created} onClose={onClose} />;
  return (
    <LabelDialog
      title="New key"
      action="Create"
      hint="For operators, such as “Version 2”. The existing keys stay valid; this page shows when they have run out."
      label={label}
      onLabel={setLabel}
      onSubmit={submit}
      onClose={onClose}
    />
  );
}

function NewKey({ appid, created, onClose }: DialogProps & { readonly created: CreatedKey }) {
  return (
    <SecretOnce
      title={created.label === undefined ? "The new key" : `The key “${nameOfKey(created)}”`}
      secret={created.appkey}
      onClose={onClose}
    >
      <p>Ship it with the next version of the app. Devices register with it and the id of the application.</p>
      <DetailList
        items={[
          ["Application", <IdChip key="application" id={appid} />],
          ["Id of the key", <IdChip key="key" id={created.id} />],
        ]}
      />
    </SecretOnce>
  );
}

export function RenameKey({ appid, keyOfApp: { id: keyId, label: before }, onClose }: KeyDialogProps) {
  const [label, setLabel] = useState(before ?? "");
  const refresh = useRefresh(appid);

  async function rename(to: string) {
    await relabelKey({ appid, keyId, label: to });
    await refresh();
  }

  async function submit() {
    await rename(label);
    showToast(`Renamed to ${showInvisible(label)}.`, before === undefined ? undefined : () => rename(before));
    onClose();
  }

  return (
    <LabelDialog
      title="Rename the key"
      action="Rename"
      hint="For operators; apps never see it."
      isRequired
      label={label}
      onLabel={setLabel}
      onSubmit={submit}
      onClose={onClose}
    />
  );
}

interface LabelDialogProps {
  readonly title: string;
  readonly action: string;
  readonly hint: string;
  readonly isRequired?: boolean;
  readonly label: string;
  readonly onLabel: (label: string) => void;
  readonly onSubmit: () => Promise<void>;
  readonly onClose: () => void;
}

function LabelDialog({ title, action, hint, isRequired, label, onLabel, onSubmit, onClose }: LabelDialogProps) {
  return (
    <FormDialog title={title} fields={["label"]} action={action} onSubmit={onSubmit} onClose={onClose}>
      <TextField
        label="Name"
        name="label"
        hint={hint}
        autoFocus
        isRequired={isRequired}
        value={label}
        onChange={onLabel}
      />
    </FormDialog>
  );
}

export function RevokeTokens({ appid, keyOfApp, onClose }: KeyDialogProps) {
  const { id: keyId } = keyOfApp;
  const refresh = useRefresh(appid);

  async function confirm() {
    await revokeKeyTokens({ appid, keyId });
    await refresh();
    showToast(`Ended the tokens of ${nameOfKey(keyOfApp)}.`);
  }

  return (
    <DangerDialog
      title={`End all tokens of “${nameOfKey(keyOfApp)}”?`}
      lead="Ends at once, and cannot be undone"
      typed={nameOfKey(keyOfApp)}
      command={`npx rollcall apps keys revoke-tokens ${appid} ${keyId} --yes`}
      action="End the tokens"
      onConfirm={confirm}
      onClose={onClose}
    >
      <KeyImpact appid={appid} keyId={keyId} />
      <p>The key stays valid: apps register their devices again by themselves, and users log in again.</p>
      <p>Does not end: signed URLs of files, for an hour.</p>
    </DangerDialog>
  );
}

interface RetireKeyProps extends KeyDialogProps {
  /** Whether no other key is active. */
  readonly isLast: boolean;
}

export function RetireKey({ appid, keyOfApp, isLast, onClose }: RetireKeyProps) {
  const { id: keyId } = keyOfApp;
  const refresh = useRefresh(appid);

  async function confirm() {
    await retireKey({ appid, keyId, ...(isLast && { confirm: keyId }) });
    await refresh();
    showToast(`Retired ${nameOfKey(keyOfApp)}.`);
  }

  return (
    <DangerDialog
      title={`Retire the key “${nameOfKey(keyOfApp)}”?`}
      lead="Ends at once, and cannot be undone"
      typed={nameOfKey(keyOfApp)}
      command={`npx rollcall apps keys retire ${appid} ${keyId}${isLast ? " --yes" : ""}`}
      action="Retire the key"
      onConfirm={confirm}
      onClose={onClose}
    >
      <KeyImpact appid={appid} keyId={keyId} />
      <p>
        These apps are shut out until they have another key: they get 401 AuthAppCredentialsInvalid when they register.
      </p>
      {isLast && (
        <p>
          <b>It is the last active key:</b> no device at all can register until there is a new one.
        </p>
      )}
      <p>Does not end: devices of other keys; signed URLs of files, for an hour.</p>
    </DangerDialog>
  );
}

/** Level 4: every key and token of the application ends. */
export function ReplaceKeys({ appid, onClose }: DialogProps) {
  const [created, setCreated] = useState<CreatedKey>();
  const refresh = useRefresh(appid);

  async function confirm() {
    try {
      const remedy =
        "The keys may be replaced all the same: then the list has a new one, whose value is lost. Create another.";
      setCreated(await explainLoss(() => replaceKeys({ appid }), remedy));
    } finally {
      await refresh();
    }
  }

  if (created !== undefined) return <NewKey appid={appid} created={created} onClose={onClose} />;
  return (
    <DangerDialog
      title="Replace all keys of this application?"
      lead="Ends every key and every token at once, and cannot be undone"
      typed={appid}
      onPassword={async (password) => void (await provePassword({ password }))}
      command={`npx rollcall apps compromised ${appid} --yes`}
      action="Replace all keys"
      onConfirm={confirm}
      onClose={onClose}
      staysOpen
    >
      <ApplicationImpact appid={appid} />
      <p>Use it when a key has leaked. Apps are shut out until they ship with the new key, which is shown next.</p>
      <p>Does not end: signed URLs of files, for an hour.</p>
    </DangerDialog>
  );
}

export function CreateSigningSecret({ appid, onClose }: DialogProps) {
  const [secret, setSecret] = useState<string>();
  const refresh = useRefreshSecret(appid);

  async function confirm() {
    const remedy = "There may be a new secret all the same, and its value is lost: make another one.";
    setSecret((await explainLoss(() => createSigningSecret({ appid }), remedy)).secret);
    await refresh();
  }

  if (secret !== undefined) {
    return (
      <SecretOnce title="The shared secret" secret={secret} onClose={onClose}>
        <p>Apps and servers sign their requests with it. The settings say whether signatures are required.</p>
      </SecretOnce>
    );
  }
  return (
    <DangerDialog
      title="Make a new shared secret?"
      lead="An earlier secret ends at once, and cannot be brought back"
      typed={appid}
      command={`npx rollcall apps secret set ${appid}`}
      action="Make a new secret"
      onConfirm={confirm}
      onClose={onClose}
      staysOpen
    >
      <ApplicationImpact appid={appid} />
      <p>Requests that are signed with an earlier secret are refused from now on.</p>
    </DangerDialog>
  );
}

/** Level 4: signatures are not checked any more. */
export function DeleteSigningSecret({ appid, onClose }: DialogProps) {
  const refresh = useRefreshSecret(appid);

  async function confirm() {
    await deleteSigningSecret({ appid });
    showToast("Removed the shared secret.");
    await refresh();
  }

  return (
    <DangerDialog
      title="Remove the shared secret?"
      lead="Ends at once, and cannot be undone"
      typed={appid}
      onPassword={async (password) => void (await provePassword({ password }))}
      command={`npx rollcall apps secret delete ${appid} --yes`}
      action="Remove the secret"
      onConfirm={confirm}
      onClose={onClose}
    >
      <ApplicationImpact appid={appid} />
      <p>Signatures of requests are not checked any more.</p>
    </DangerDialog>
  );
}

function KeyImpact({ appid, keyId }: { readonly appid: string; readonly keyId: string }) {
  const { data: impact, error } = useQuery({
    queryKey: ["impact", appid, keyId],
    queryFn: ({ signal }) => getKeyImpact({ appid, keyId }, { signal }),
    gcTime: 0,
  });
  if (error !== null) return <Problem error={error} />;
  return <ImpactFacts impact={impact} devicesThat="registered with it last" />;
}

function useRefreshSecret(appid: string) {
  const queries = useQueryClient();
  return () => queries.invalidateQueries(effectiveSettingsQuery(appid));
}

function useRefresh(appid: string) {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ["keys", appid] });
}
