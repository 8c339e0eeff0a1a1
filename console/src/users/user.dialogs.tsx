import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  endTokenOfUser,
  endTokensOfUser,
  eraseUser,
  getImpactOfUser,
  type OperatedToken,
  type OperatedUser,
} from "../api/admin.ts";
import { send } from "../api/send.ts";
import { endOfId, showInvisible } from "../lib/format.ts";
import Download from "../lib/icons/download.ts";
import { Button } from "../ui/button.tsx";
import { DangerDialog } from "../ui/danger-dialog.tsx";
import { Problem } from "../ui/fields.tsx";
import { FormDialog } from "../ui/form-dialog.tsx";
import { ImpactFacts } from "../ui/impact.tsx";
import { showToast } from "../ui/toast.tsx";
import { type OpenedDialog, saveExport, useRefreshUsers } from "./user.acts.ts";
import { UserCountsList } from "./user.counts.tsx";
import { EditUser, SendReset } from "./user.forms.tsx";

interface DialogProps {
  readonly appid: string;
  readonly onClose: () => void;
}

interface UserDialogProps extends DialogProps {
  readonly opened: OpenedDialog | undefined;
}

/** The dialog of an action on a user, if one is open. */
export function UserDialog({ appid, opened, onClose }: UserDialogProps) {
  if (opened === undefined) return null;
  const Opened = dialogs[opened.dialog];
  return <Opened appid={appid} user={opened.user} onClose={onClose} />;
}

function EndTokens({ appid, user: { id, userName }, onClose }: DialogProps & { readonly user: OperatedUser }) {
  const refresh = useRefreshUsers(appid);
  const name = showInvisible(userName);

  async function confirm() {
    await send(endTokensOfUser(appid, id));
    await refresh();
    showToast(`Ended all sign-ins of ${name}.`);
  }

  return (
    <DangerDialog
      title={`End all sign-ins of ${name}?`}
      lead="Ends at once, and cannot be undone"
      typed={endOfId(id)}
      command={`npx rollcall users revoke ${appid} ${id}`}
      action="End all sign-ins"
      onConfirm={confirm}
      onClose={onClose}
    >
      <UserImpact appid={appid} userId={id} />
      <p>The next call with one of these tokens gets AuthTokenInvalid, and the app asks the user to sign in again.</p>
      <p>Does not end: signed addresses of files, for up to an hour.</p>
    </DangerDialog>
  );
}

function ExportUser({ appid, user, onClose }: DialogProps & { readonly user: OperatedUser }) {
  async function submit() {
    await saveExport(appid, user);
    onClose();
  }

  return (
    <FormDialog
      title={`Export ${showInvisible(user.userName)}?`}
      lead={
        <>
          <p>One ZIP archive with the profile, and with all stored data of the user:</p>
          <UserCountsList appid={appid} userId={user.id} />
          <p>
            The metadata of these objects and the events of metrics are in it, too. The export is an entry of the audit
            log.
          </p>
        </>
      }
      fields={[]}
      action="Export"
      onSubmit={submit}
      onClose={onClose}
    >
      {null}
    </FormDialog>
  );
}

function EraseUser({ appid, user, onClose }: DialogProps & { readonly user: OperatedUser }) {
  const { id, userName } = user;
  const navigate = useNavigate();
  const refresh = useRefreshUsers(appid);
  const name = showInvisible(userName);

  async function confirm() {
    await send(eraseUser(appid, id, { confirm: id }));
    await navigate({ to: "/apps/$appid/users", params: { appid }, search: {} });
    await refresh();
    showToast(`Erased ${name}.`);
  }

  return (
    <DangerDialog
      title={`Erase ${name}?`}
      lead="Ends at once, and cannot be undone"
      typed={endOfId(id)}
      command={`npx rollcall users erase ${appid} ${id} --yes`}
      action="Erase the user"
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        The user is gone at once, with everything below; the data is erased in the background. The list of users shows
        what is left of it.
      </p>
      <UserCountsList appid={appid} userId={id} />
      <UserImpact appid={appid} userId={id} />
      <p>
        <Button size="small" onPress={() => void saveExport(appid, user)}>
          <Download size={14} aria-hidden /> Export first
        </Button>
      </p>
    </DangerDialog>
  );
}

function UserImpact({ appid, userId }: { readonly appid: string; readonly userId: string }) {
  const { data, error } = useQuery({
    queryKey: ["users", appid, "impact", userId],
    queryFn: ({ signal }) => send(getImpactOfUser(appid, userId), { signal }),
    staleTime: 0,
  });
  if (error !== null) return <Problem error={error} />;
  return <ImpactFacts impact={data} devicesThat="on which the user is signed in" />;
}

const dialogs = {
  edit: EditUser,
  "send-reset": SendReset,
  export: ExportUser,
  "end-tokens": EndTokens,
  erase: EraseUser,
};

interface EndTokenProps extends DialogProps {
  readonly userId: string;
  readonly token: OperatedToken;
}

/** Asks for confirmation before one token is revoked. */
export function EndToken({ appid, userId, token: { id, platform, deviceID }, onClose }: EndTokenProps) {
  const refresh = useRefreshUsers(appid);

  async function confirm() {
    await send(endTokenOfUser(appid, userId, id));
    await refresh();
    showToast("Ended the sign-in.");
  }

  return (
    <DangerDialog
      title={`End the sign-in on ${showInvisible(platform)}?`}
      lead="Ends at once, and cannot be undone"
      action="End the sign-in"
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        On the device <code>{deviceID}</code> the user has to sign in again.
      </p>
    </DangerDialog>
  );
}
