import type { Application, RemoteApplication, RemoteApplicationState } from "../api/admin.ts";
import { known } from "../api/send.ts";
import { Status } from "../ui/status.tsx";

export function ApplicationState({ application }: { readonly application: Application }) {
  const { suspended, movingTo, isBeingImported } = application;
  if (isBeingImported) return <Status kind="notice">Being imported</Status>;
  if (movingTo !== undefined) return <Status kind="notice">Moving to {movingTo}</Status>;
  return suspended === undefined ? <Status kind="good">Active</Status> : <Status kind="warning">Suspended</Status>;
}

/** The state of an application in another region. */
export function RemoteState({ application: { state } }: { readonly application: RemoteApplication }) {
  return <Status kind={state === "there" ? "neutral" : "notice"}>{remoteStates[known(state)]}</Status>;
}

const remoteStates: Readonly<Record<RemoteApplicationState, string>> = {
  there: "Elsewhere",
  "being made": "Being created",
  "handing over": "Handing over",
};
