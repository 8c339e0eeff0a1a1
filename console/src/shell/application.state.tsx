import { useQueryClient } from "@tanstack/react-query";
import {
  type Application,
  type RemoteApplication,
  resumeApplication,
  suspendApplication,
} from "../api/applications.ts";
import { showInvisible } from "../lib/format.ts";
import { Status } from "../ui/status.tsx";
import { act } from "../ui/toast.tsx";

export function ApplicationState({ application }: { readonly application: Application }) {
  const { suspended, movingTo, isBeingImported } = application;
  if (isBeingImported) return <Status kind="notice">Being imported</Status>;
  if (movingTo !== undefined) return <Status kind="notice">Moving to {movingTo}</Status>;
  return suspended === undefined ? <Status kind="good">Active</Status> : <Status kind="warning">Suspended</Status>;
}

/** The state of an application in another region. */
export function RemoteState({ application: { state } }: { readonly application: RemoteApplication }) {
  return <Status kind={state === "there" ? "neutral" : "notice"}>{remoteStates[state]}</Status>;
}

const remoteStates: Readonly<Record<RemoteApplication["state"], string>> = {
  there: "Elsewhere",
  "being made": "Being created",
  "handing over": "Handing over",
};

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
    await Promise.all([
      queries.invalidateQueries({ queryKey: ["applications"] }),
      queries.invalidateQueries({ queryKey: ["application", appid] }),
    ]);
  }
  return { suspend, resume };
}
