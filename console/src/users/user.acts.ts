import { useQueryClient } from "@tanstack/react-query";
import { disableUser, downloadUser, enableUser, type OperatedUser } from "../api/admin.ts";
import { refetch } from "../api/queries.ts";
import { saveDownload } from "../api/save-download.ts";
import { send } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import Ban from "../lib/icons/ban.ts";
import CircleCheck from "../lib/icons/circle-check.ts";
import Download from "../lib/icons/download.ts";
import LogOut from "../lib/icons/log-out.ts";
import Mail from "../lib/icons/mail.ts";
import Pencil from "../lib/icons/pencil.ts";
import Trash from "../lib/icons/trash-2.ts";
import { useRole } from "../shell/session.ts";
import type { MenuAction } from "../ui/menu.tsx";
import { act } from "../ui/toast.tsx";

/** An action that asks for confirmation before it runs. */
export interface OpenedDialog {
  readonly dialog: "edit" | "send-reset" | "export" | "end-tokens" | "erase";
  readonly user: OperatedUser;
}

/** The actions of an operator on a user. */
export function useUserActs(appid: string, onDialog: (opened: OpenedDialog) => void) {
  const isEditor = useRole("editor");
  const refresh = useRefreshUsers(appid);

  async function change(run: typeof disableUser, { id }: OperatedUser) {
    await send(run(appid, id));
    await refresh();
  }

  function disable(user: OperatedUser) {
    const name = showInvisible(user.userName);
    return act(
      `Disabled ${name}.`,
      () => change(disableUser, user),
      () => change(enableUser, user),
    );
  }

  function enable(user: OperatedUser) {
    const name = showInvisible(user.userName);
    return act(
      `Enabled ${name}.`,
      () => change(enableUser, user),
      () => change(disableUser, user),
    );
  }

  function actionsOf(user: OperatedUser): MenuAction[] {
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
export function saveExport(appid: string, { id, userName }: OperatedUser): Promise<void> {
  return act(`Exporting ${showInvisible(userName)}: see the downloads of the browser.`, () =>
    saveDownload(downloadUser(appid, id), `${id}.zip`),
  );
}

/** Loads the views of the application's users again. */
export function useRefreshUsers(appid: string): () => Promise<void> {
  const queries = useQueryClient();
  return () => refetch(queries, ["users", appid]);
}
