import { useQueryClient } from "@tanstack/react-query";
import { type Application, changeApplicationSettings, resumeApplication, suspendApplication } from "../api/admin.ts";
import { refetch } from "../api/queries.ts";
import { send, sendVersioned } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import CirclePause from "../lib/icons/circle-pause.ts";
import CirclePlay from "../lib/icons/circle-play.ts";
import Clapperboard from "../lib/icons/clapperboard.ts";
import LogOut from "../lib/icons/log-out.ts";
import Pencil from "../lib/icons/pencil.ts";
import Trash from "../lib/icons/trash-2.ts";
import type { MenuAction } from "../ui/menu.tsx";
import { act } from "../ui/toast.tsx";
import { useRole } from "./session.ts";

/** A dialog about an application. */
export interface OpenedApplication {
  readonly dialog: "rename" | "suspend" | "end tokens" | "delete";
  readonly application: Application;
}

export const deleteLabel = "Delete …";

/** An operator's actions on an application. During a migration, the application refuses every change. */
export function useApplicationActs(onDialog: (opened: OpenedApplication) => void) {
  const [isEditor, isOwner] = [useRole("editor"), useRole("owner")];
  const resume = useResumption();
  return (application: Application): MenuAction[] => {
    const { suspended, movingTo, isBeingImported } = application;
    if (movingTo !== undefined || isBeingImported === true) return [];
    const open = (dialog: OpenedApplication["dialog"]) => () => onDialog({ dialog, application });
    const edits: MenuAction[] = [
      { label: "Rename …", icon: Pencil, run: open("rename") },
      suspended === undefined
        ? { label: "Suspend …", icon: CirclePause, isDanger: true, run: open("suspend") }
        : { label: "Resume", icon: CirclePlay, run: () => void resume(application) },
      { label: "End all tokens …", icon: LogOut, isDanger: true, run: open("end tokens") },
    ];
    const remove: MenuAction = { label: deleteLabel, icon: Trash, isDanger: true, run: open("delete") };
    return [...(isEditor ? edits : []), ...(isOwner ? [remove] : [])];
  };
}

/** Resumes a suspended application immediately, with Undo. */
export function useResumption() {
  const change = useSuspensionCalls();
  return ({ id, name }: Application) =>
    act(
      `Resumed ${showInvisible(name)}.`,
      () => change(resumeApplication, id),
      () => change(suspendApplication, id),
    );
}

/** Runs one of the two calls, and loads the views of the application again. */
export function useSuspensionCalls() {
  const queries = useQueryClient();
  return async (run: typeof suspendApplication, appid: string) => {
    await send(run(appid));
    await refetch(queries, ["applications"], ["application", appid]);
  };
}

/** The act that switches the rehearsal of an application on or off, with Undo. */
export function useRehearsalSwitch(appid: string) {
  const queries = useQueryClient();

  async function set(rehearsal: "on" | "off") {
    queries.setQueryData(["settings", appid], await sendVersioned(changeApplicationSettings(appid, { rehearsal })));
    await refetch(queries, ["application", appid]);
  }

  return (isOn: boolean): MenuAction => {
    const [next, before] = isOn ? (["off", "on"] as const) : (["on", "off"] as const);
    const run = () =>
      void act(
        `Rehearsal is ${next}.`,
        () => set(next),
        () => set(before),
      );
    return { label: `Switch rehearsal ${next}`, icon: Clapperboard, run };
  };
}
