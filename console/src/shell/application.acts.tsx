import { useQueryClient } from "@tanstack/react-query";
import { type Application, resumeApplication, suspendApplication } from "../api/applications.ts";
import { refetch } from "../api/refetch.ts";
import { changeSettings } from "../api/settings.ts";
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

/** The acts of an operator on an application as a whole. A moving one refuses every change. */
export function useApplicationActs(
  onDialog: (dialog: "rename" | "end tokens" | "delete", application: Application) => void,
) {
  const [isEditor, isOwner] = [useRole("editor"), useRole("owner")];
  const { suspend, resume } = useSuspension();
  return (application: Application): MenuAction[] => {
    const { suspended, movingTo, isBeingImported } = application;
    if (movingTo !== undefined || isBeingImported === true) return [];
    const edits: MenuAction[] = [
      { label: "Rename …", icon: Pencil, run: () => onDialog("rename", application) },
      suspended === undefined
        ? { label: "Suspend", icon: CirclePause, run: () => void suspend(application) }
        : { label: "Resume", icon: CirclePlay, run: () => void resume(application) },
    ];
    const endTokens: MenuAction = {
      label: "End all tokens …",
      icon: LogOut,
      isDanger: true,
      run: () => onDialog("end tokens", application),
    };
    const remove: MenuAction = {
      label: "Delete …",
      icon: Trash,
      isDanger: true,
      run: () => onDialog("delete", application),
    };
    return [...(isEditor ? [...edits, endTokens] : []), ...(isOwner ? [remove] : [])];
  };
}

/** Suspends and resumes applications, with Undo. */
export function useSuspension() {
  const queries = useQueryClient();
  async function suspend({ id, name }: Application) {
    await act(
      `Suspended ${showInvisible(name)}.`,
      () => change(suspendApplication, id),
      () => change(resumeApplication, id),
    );
  }
  async function resume({ id, name }: Application) {
    await act(
      `Resumed ${showInvisible(name)}.`,
      () => change(resumeApplication, id),
      () => change(suspendApplication, id),
    );
  }
  async function change(run: typeof suspendApplication, appid: string) {
    await run({ appid });
    await refetch(queries, ["applications"], ["application", appid]);
  }
  return { suspend, resume };
}

/** The act that switches the rehearsal of an application on or off, with Undo. */
export function useRehearsalSwitch(appid: string) {
  const queries = useQueryClient();

  async function set(rehearsal: "on" | "off") {
    queries.setQueryData(["settings", appid], await changeSettings({ appid, rehearsal }));
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
