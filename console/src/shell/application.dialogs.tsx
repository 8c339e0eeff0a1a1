import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import {
  type Application,
  changeApplication,
  createApplication,
  deleteApplication,
  resumeApplication,
  revokeApplicationTokens,
  suspendApplication,
} from "../api/admin.ts";
import { refetch } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { proveOperatorPassword } from "../api/sessions.ts";
import { endOfId, showInvisible } from "../lib/format.ts";
import { explainLoss } from "../lib/lost-answer.ts";
import { handOverKey } from "../lib/new-keys.ts";
import { DangerDialog } from "../ui/danger-dialog.tsx";
import { TextField } from "../ui/fields.tsx";
import { FormDialog } from "../ui/form-dialog.tsx";
import { showToast } from "../ui/toast.tsx";
import { type OpenedApplication, useSuspensionCalls } from "./application.acts.tsx";
import { ApplicationImpact, UseOfApplication } from "./application.impact.tsx";

interface CloseProps {
  readonly onClose: () => void;
}

interface ApplicationProps extends CloseProps {
  readonly application: Application;
}

interface DeleteProps extends ApplicationProps {
  /** For pages that no longer exist once the application is deleted. */
  readonly onDeleted?: () => void;
}

export function CreateApplication({ onClose }: CloseProps) {
  const [name, setName] = useState("");
  const navigate = useNavigate();
  const refresh = useRefresh();

  async function submit() {
    const remedy = "The application may exist all the same: look for it in the list, and create another key for it.";
    const { appid, appkey } = await explainLoss(() => send(createApplication({ name })), remedy);
    handOverKey(appid, appkey);
    void refresh();
    await navigate({ to: "/apps/$appid/start", params: { appid } });
    onClose();
  }

  return (
    <NameDialog
      title="New application"
      action="Create"
      name={name}
      onName={setName}
      onSubmit={submit}
      onClose={onClose}
    />
  );
}

function RenameApplication({ application: { id, name: before }, onClose }: ApplicationProps) {
  const [name, setName] = useState(before);
  const refresh = useRefresh();

  async function rename(to: string) {
    await send(changeApplication(id, { name: to }));
    await refresh();
  }

  async function submit() {
    await rename(name);
    showToast(`Renamed to ${showInvisible(name)}.`, () => rename(before));
    onClose();
  }

  return (
    <NameDialog
      title="Rename the application"
      action="Rename"
      name={name}
      onName={setName}
      onSubmit={submit}
      onClose={onClose}
    />
  );
}

interface NameDialogProps extends CloseProps {
  readonly title: string;
  readonly action: string;
  readonly name: string;
  readonly onName: (name: string) => void;
  readonly onSubmit: () => Promise<void>;
}

function NameDialog({ title, action, name, onName, onSubmit, onClose }: NameDialogProps) {
  return (
    <FormDialog title={title} fields={["name"]} action={action} onSubmit={onSubmit} onClose={onClose}>
      <TextField
        label="Name"
        name="name"
        hint="For operators; apps never see it. It can be changed."
        autoFocus
        isRequired
        value={name}
        onChange={onName}
      />
    </FormDialog>
  );
}

/** Asks for confirmation because all clients stop, but not for the name because no data is lost. */
function SuspendApplication({ application: { id, name }, onClose }: ApplicationProps) {
  const change = useSuspensionCalls();

  async function confirm() {
    await change(suspendApplication, id);
    showToast(`Suspended ${showInvisible(name)}.`, () => change(resumeApplication, id));
  }

  return (
    <DangerDialog
      title={`Suspend ${showInvisible(name)}?`}
      lead="Stops all its clients until it is resumed"
      command={`npx rollcall apps suspend ${id}`}
      action="Suspend the application"
      onConfirm={confirm}
      onClose={onClose}
    >
      <ApplicationImpact appid={id} />
      <UseOfApplication appid={id} />
      <p>
        Each of their calls gets AuthAPICallDisabledByDeveloper, and their streams of events end. Nothing is lost:
        tokens and data stay as they are, and operators see everything.
      </p>
    </DangerDialog>
  );
}

function EndTokensOfApplication({ application: { id, name }, onClose }: ApplicationProps) {
  async function confirm() {
    await send(revokeApplicationTokens(id));
    showToast(`Ended all tokens of ${showInvisible(name)}.`);
  }

  return (
    <DangerDialog
      title={`End all tokens of ${showInvisible(name)}?`}
      lead="Ends at once, and cannot be undone"
      typed={endOfId(id)}
      command={`npx rollcall apps revoke-tokens ${id} --yes`}
      action="End all tokens"
      onConfirm={confirm}
      onClose={onClose}
    >
      <ApplicationImpact appid={id} />
      <p>All keys stay valid: apps register their devices again by themselves, and users log in again.</p>
      <p>Does not end: signed URLs of files, for an hour.</p>
    </DangerDialog>
  );
}

function DeleteApplication({ application: { id, name }, onDeleted, onClose }: DeleteProps) {
  const refresh = useRefresh();

  async function confirm() {
    await send(deleteApplication(id, { confirm: id }));
    onDeleted?.();
    await refresh();
    showToast(`Deleted ${showInvisible(name)}.`);
  }

  return (
    <DangerDialog
      title={`Delete ${showInvisible(name)}?`}
      lead="Ends at once, and cannot be undone"
      typed={endOfId(id)}
      onPassword={async (password) => void (await send(proveOperatorPassword({ password })))}
      command={`npx rollcall apps delete ${id} --yes`}
      action="Delete the application"
      onConfirm={confirm}
      onClose={onClose}
    >
      <ApplicationImpact appid={id} />
      <p>Its users, devices, check-ins, files, metadata and metrics go with it. An export beforehand keeps them:</p>
      <p>
        <code>npx rollcall apps export {id} FILE</code>
      </p>
      <p>Apps that still call get AuthAppCredentialsInvalid or AuthTokenInvalid. The audit log stays.</p>
    </DangerDialog>
  );
}

function useRefresh() {
  const queries = useQueryClient();
  return () => refetch(queries, ["applications"], ["application"]);
}

const dialogs = {
  rename: RenameApplication,
  suspend: SuspendApplication,
  "end tokens": EndTokensOfApplication,
  delete: DeleteApplication,
} as const;

interface ApplicationDialogProps extends CloseProps {
  readonly opened: OpenedApplication;
  readonly onDeleted?: () => void;
}

/** The dialog of an act on an application. */
export function ApplicationDialog({ opened: { dialog, application }, ...events }: ApplicationDialogProps) {
  const Opened = dialogs[dialog];
  return <Opened application={application} {...events} />;
}
