import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import {
  type ApplicationKey,
  type CreatedApplicationKey,
  changeApplicationKey,
  createApplicationKey,
  deleteSigningSecret,
  getImpactOfKey,
  listApplicationKeys,
  putSigningSecret,
  replaceApplicationKeys,
  retireApplicationKey,
  revokeKeyTokens,
} from "../api/admin.ts";
import { effectiveSettingsQuery, refetch, usePages } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { proveOperatorPassword } from "../api/sessions.ts";
import { showInvisible } from "../lib/format.ts";
import { explainLoss, isLoss } from "../lib/lost-answer.ts";
import { ApplicationImpact } from "../shell/application.impact.tsx";
import { Button } from "../ui/button.tsx";
import { DangerDialog } from "../ui/danger-dialog.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { Problem, TextField } from "../ui/fields.tsx";
import { FormDialog } from "../ui/form-dialog.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { ImpactFacts } from "../ui/impact.tsx";
import { SecretOnce } from "../ui/secret-once.tsx";
import { showToast } from "../ui/toast.tsx";
import { nameOfKey, typedOfKey } from "./key.names.ts";

interface DialogProps {
  readonly appid: string;
  readonly onClose: () => void;
}

interface KeyDialogProps extends DialogProps {
  readonly keyOfApp: ApplicationKey;
}

export function CreateKey({ appid, onClose }: DialogProps) {
  const [label, setLabel] = useState("");
  const [created, setCreated] = useState<CreatedApplicationKey>();
  /** The keys before a call whose answer was lost. */
  const [before, setBefore] = useState<readonly ApplicationKey[]>();
  const [retired, setRetired] = useState<ApplicationKey>();
  const { rows: keys } = usePages(["keys", appid], (page, options) => send(listApplicationKeys(appid, page), options));
  const refresh = useRefresh(appid);

  async function submit() {
    try {
      const create = () => send(createApplicationKey(appid, { label: label === "" ? undefined : label }));
      setCreated(await explainLoss(create, "The key may exist all the same, and its value is lost."));
    } catch (error) {
      if (isLoss(error)) setBefore(before ?? keys);
      throw error;
    } finally {
      await refresh();
    }
  }

  if (created !== undefined) return <NewKey appid={appid} created={created} onClose={onClose} />;
  if (retired !== undefined) return <RetireKey appid={appid} keyOfApp={retired} isLast={false} onClose={onClose} />;
  return (
    <LabelDialog
      title="New key"
      action="Create"
      hint="For operators, such as “Version 2”. The existing keys stay valid; this page shows when they have run out."
      label={label}
      onLabel={setLabel}
      onSubmit={submit}
      onClose={onClose}
    >
      {before !== undefined && (
        <LostKeys
          keys={keys.filter(({ id, state }) => state === "active" && !before.some((key) => key.id === id))}
          onRetire={setRetired}
          onLook={() => void refresh()}
        />
      )}
    </LabelDialog>
  );
}

interface LostKeysProps {
  /** Keys that were not there before the call whose answer was lost. */
  readonly keys: readonly ApplicationKey[];
  readonly onRetire: (key: ApplicationKey) => void;
  /** Loads the list again. */
  readonly onLook: () => void;
}

/** Offers to retire a key whose value is lost. */
function LostKeys({ keys, onRetire, onLook }: LostKeysProps) {
  return (
    <div role="status">
      {keys.length === 0 && (
        <p>
          The list has no new key so far.{" "}
          <Button size="small" onPress={onLook}>
            Look again
          </Button>
        </p>
      )}
      {keys.map((key) => (
        <p key={key.id}>
          The list has a new key, <bdi>{nameOfKey(key)}</bdi>.{" "}
          <Button size="small" kind="danger" onPress={() => onRetire(key)}>
            Retire it …
          </Button>
        </p>
      ))}
    </div>
  );
}

function NewKey({ appid, created, onClose }: DialogProps & { readonly created: CreatedApplicationKey }) {
  return (
    <SecretOnce
      title={created.label === undefined ? "The new key" : `The key “${showInvisible(created.label)}”`}
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
    await send(changeApplicationKey(appid, keyId, { label: to }));
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
  /** Below the field. */
  readonly children?: ReactNode;
}

function LabelDialog(props: LabelDialogProps) {
  const { title, action, hint, isRequired, label, onLabel, onSubmit, onClose, children } = props;
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
      {children}
    </FormDialog>
  );
}

export function RevokeTokens({ appid, keyOfApp, onClose }: KeyDialogProps) {
  const { id: keyId } = keyOfApp;
  const refresh = useRefresh(appid);

  async function confirm() {
    await send(revokeKeyTokens(appid, keyId));
    await refresh();
    showToast(`Ended the tokens of ${nameOfKey(keyOfApp)}.`);
  }

  return (
    <DangerDialog
      title={`End all tokens of “${nameOfKey(keyOfApp)}”?`}
      lead="Ends at once, and cannot be undone"
      typed={typedOfKey(keyOfApp)}
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
    await send(retireApplicationKey(appid, keyId, { confirm: isLast ? keyId : undefined }));
    await refresh();
    showToast(`Retired ${nameOfKey(keyOfApp)}.`);
  }

  return (
    <DangerDialog
      title={`Retire the key “${nameOfKey(keyOfApp)}”?`}
      lead="Ends at once, and cannot be undone"
      typed={typedOfKey(keyOfApp)}
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

/** Level 4: revokes every key and token of the application. */
export function ReplaceKeys({ appid, onClose }: DialogProps) {
  const [created, setCreated] = useState<CreatedApplicationKey>();
  const refresh = useRefresh(appid);

  async function confirm() {
    try {
      const remedy =
        "The keys may be replaced all the same: then the list has a new one, whose value is lost. Create another.";
      setCreated(await explainLoss(() => send(replaceApplicationKeys(appid)), remedy));
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
      onPassword={async (password) => void (await send(proveOperatorPassword({ password })))}
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
  const [own, setOwn] = useState("");
  const [secret, setSecret] = useState<string>();
  const refresh = useRefreshSecret(appid);

  async function confirm() {
    const remedy = "There may be a new secret all the same, and its value is lost: make another one.";
    if (own === "") setSecret((await explainLoss(() => send(putSigningSecret(appid)), remedy)).secret);
    else {
      await send(putSigningSecret(appid, { secret: own }));
      showToast("Set the shared secret.");
      onClose();
    }
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
      title="Set a new shared secret?"
      lead="An earlier secret ends at once, and cannot be brought back"
      typed={appid}
      command={`npx rollcall apps secret set ${appid}${own === "" ? "" : " secret.txt"}`}
      action={own === "" ? "Make a new secret" : "Set this secret"}
      onConfirm={confirm}
      onClose={onClose}
      staysOpen
    >
      <ApplicationImpact appid={appid} />
      <p>Requests that are signed with an earlier secret are refused from now on.</p>
      <TextField
        label="A secret of your own"
        type="password"
        autoComplete="off"
        hint="Empty: the server makes one of 256 random bits, and shows it once. An own one has 16 to 256 characters; take random ones."
        value={own}
        onChange={setOwn}
      />
    </DangerDialog>
  );
}

/** Level 4: signatures are not checked any more. */
export function DeleteSigningSecret({ appid, onClose }: DialogProps) {
  const refresh = useRefreshSecret(appid);

  async function confirm() {
    await send(deleteSigningSecret(appid));
    showToast("Removed the shared secret.");
    await refresh();
  }

  return (
    <DangerDialog
      title="Remove the shared secret?"
      lead="Ends at once, and cannot be undone"
      typed={appid}
      onPassword={async (password) => void (await send(proveOperatorPassword({ password })))}
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
    queryFn: ({ signal }) => send(getImpactOfKey(appid, keyId), { signal }),
    gcTime: 0,
  });
  if (error !== null) return <Problem error={error} />;
  return <ImpactFacts impact={impact} devicesThat="registered with it last" />;
}

function useRefreshSecret(appid: string) {
  const queries = useQueryClient();
  return () => refetch(queries, effectiveSettingsQuery(appid).queryKey);
}

function useRefresh(appid: string) {
  const queries = useQueryClient();
  return () => refetch(queries, ["keys", appid]);
}
