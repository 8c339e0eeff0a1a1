import { useQueryClient } from "@tanstack/react-query";
import { refetch } from "../api/refetch.ts";
import { disableUser, enableUser, exportUser, type User } from "../api/users.ts";
import { showInvisible } from "../lib/format.ts";
import Ban from "../lib/icons/ban.ts";
import CircleCheck from "../lib/icons/circle-check.ts";
import Download from "../lib/icons/download.ts";
import LogOut from "../lib/icons/log-out.ts";
import Mail from "../lib/icons/mail.ts";
import Pencil from "../lib/icons/pencil.ts";
import Trash from "../lib/icons/trash-2.ts";
import { saveFile, saveFrom } from "../lib/save-file.ts";
import { useRole } from "../shell/session.ts";
import type { MenuAction } from "../ui/menu.tsx";
import { act } from "../ui/toast.tsx";

/** An action that asks for confirmation before it runs. */
export interface OpenedDialog {
  readonly dialog: "edit" | "send-reset" | "export" | "end-tokens" | "erase";
  readonly user: User;
}

/** The actions of an operator on a user. */
export function useUserActs(appid: string, onDialog: (opened: OpenedDialog) => void) {
  const isEditor = useRole("editor");
  const refresh = useRefreshUsers(appid);

  async function change(run: typeof disableUser, { id }: User) {
    await run({ appid, userId: id });
    await refresh();
  }

  function disable(user: User) {
    const name = showInvisible(user.userName);
    return act(
      `Disabled ${name}.`,
      () => change(disableUser, user),
      () => change(enableUser, user),
    );
  }

  function enable(user: User) {
    const name = showInvisible(user.userName);
    return act(
      `Enabled ${name}.`,
      () => change(enableUser, user),
      () => change(disableUser, user),
    );
  }

  function actionsOf(user: User): MenuAction[] {
    if (!isEditor) return [];
    return [
      user.disabled === undefined
        ? { label: "Disable", icon: Ban, run: () => void disable(user) }
        : { label: "Enable", icon: CircleCheck, run: () => void enable(user) },
      { label: "Edit …", icon: Pencil, run: () => onDialog({ dialog: "edit", user }) },
      ...(user.email === undefined
        ? []
        : [{ label: "Send a reset code …", icon: Mail, run: () => onDialog({ dialog: "send-reset", user }) }]),
      { label: "Export …", icon: Download, run: () => onDialog({ dialog: "export", user }) },
      {
        label: "End all sign-ins …",
        icon: LogOut,
        isDanger: true,
        run: () => onDialog({ dialog: "end-tokens", user }),
      },
      { label: "Erase …", icon: Trash, isDanger: true, run: () => onDialog({ dialog: "erase", user }) },
    ];
  }

  return { actionsOf };
}

/** Saves all stored data of the user. The server records it in the audit log. */
export function saveExport(appid: string, { id, userName }: User): Promise<void> {
  const parameters = { appid, userId: id };
  return act(`Exporting ${showInvisible(userName)}: see the downloads of the browser.`, async () => {
    const isSaved = saveFrom(exportUser.addressOf(parameters), `${id}.zip`);
    if (!isSaved) saveFile(await exportUser(parameters), `${id}.zip`);
  });
}

/** Loads the views of the application's users again. */
export function useRefreshUsers(appid: string): () => Promise<void> {
  const queries = useQueryClient();
  return () => refetch(queries, ["users", appid]);
}
