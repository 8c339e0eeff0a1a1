import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type ChangeCrashGroupRequest, type CrashGroup, changeCrashGroup, getCrashGroup } from "../api/admin.ts";
import { refetch } from "../api/queries.ts";
import { known, send } from "../api/send.ts";
import { type Act, useActs } from "../lib/acts.ts";
import { showInvisible } from "../lib/format.ts";
import Users from "../lib/icons/users.ts";
import { useRole } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/fields.tsx";
import { FormDialog } from "../ui/form-dialog.tsx";
import { Notice } from "../ui/states.tsx";
import { showError, showToast } from "../ui/toast.tsx";

interface CrashProps {
  readonly appid: string;
  readonly group: CrashGroup;
}

type Opened = keyof typeof dialogs;

/** The actions of an editor on a crash. */
export function CrashActs({ appid, group }: CrashProps) {
  const isEditor = useRole("editor");
  const [opened, setOpened] = useState<Opened>();
  const decide = useDecision(appid, group);
  const resolve: Act = { label: "Resolve …", run: () => setOpened("resolve") };
  const acts: readonly Act[] = [
    { label: "Note …", run: () => setOpened("note") },
    ...(group.state === "open"
      ? [{ label: "Ignore …", run: () => setOpened("ignore") }, resolve]
      : [{ label: "Reopen", run: () => void decide("Opened the crash again.", { state: "open" }).catch(showError) }]),
  ];
  useActs(showInvisible(group.title), isEditor ? acts : []);
  if (!isEditor) return null;
  const Opened = opened === undefined ? undefined : dialogs[opened];
  return (
    <>
      {acts.map((each) => (
        <Button key={each.label} kind={each === resolve ? "primary" : "plain"} onPress={each.run}>
          {each.label}
        </Button>
      ))}
      {Opened !== undefined && <Opened appid={appid} group={group} onClose={() => setOpened(undefined)} />}
    </>
  );
}

interface DialogProps extends CrashProps {
  readonly onClose: () => void;
}

function Resolve({ appid, group, onClose }: DialogProps) {
  const [resolvedIn, setResolvedIn] = useState("");
  const decide = useDecision(appid, group);

  async function submit() {
    const version = resolvedIn.trim();
    const change = { state: "resolved", ...(version !== "" && { resolvedIn: version }) } as const;
    await decide(version === "" ? "Resolved the crash." : `Resolved the crash in ${version}.`, change);
    onClose();
  }

  return (
    <FormDialog title="Resolve the crash" fields={["resolvedIn"]} action="Resolve" onSubmit={submit} onClose={onClose}>
      <TextField
        label="In version"
        name="resolvedIn"
        autoFocus
        autoComplete="off"
        placeholder="2.1"
        hint="May be a version that is not out yet. Reports of older versions are counted, and do not open the crash again. Empty: any later report opens it."
        value={resolvedIn}
        onChange={setResolvedIn}
      />
    </FormDialog>
  );
}

function Ignore({ appid, group, onClose }: DialogProps) {
  const [given, setGiven] = useState({ reports: "", devices: "", date: "" });
  const decide = useDecision(appid, group);
  const field = (name: keyof typeof given) => ({
    name,
    autoComplete: "off",
    value: given[name],
    onChange: (value: string) => setGiven({ ...given, [name]: value }),
  });

  async function submit() {
    const { reports, devices, date } = given;
    const ignoreUntil = {
      ...(reports !== "" && { reports: Number(reports) }),
      ...(devices !== "" && { devices: Number(devices) }),
      ...(date !== "" && { date: new Date(date) }),
    };
    await decide("Ignored the crash.", { state: "ignored", ignoreUntil });
    onClose();
  }

  return (
    <FormDialog
      title="Ignore the crash"
      lead={<p>Until the first of these, or for good where all are empty. Reports are counted meanwhile.</p>}
      fields={Object.keys(given)}
      action="Ignore"
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField label="More reports" type="number" autoFocus {...field("reports")} />
      <TextField label="More devices" type="number" {...field("devices")} />
      <TextField label="A report from this day on, UTC" type="date" {...field("date")} />
    </FormDialog>
  );
}

function Note({ appid, group, onClose }: DialogProps) {
  const [before, setBefore] = useState(group.note ?? "");
  const [isTheirs, setTheirs] = useState(false);
  const [note, setNote] = useState(before);
  const decide = useDecision(appid, { ...group, note: before });

  async function submit() {
    const { note: current = "" } = await send(getCrashGroup(appid, group.fingerprint));
    if (current !== before) {
      setBefore(current);
      setTheirs(true);
      return;
    }
    await decide(note.trim() === "" ? "Deleted the note." : "Wrote the note.", { note: note.trim() });
    onClose();
  }

  return (
    <FormDialog title="Note about the crash" fields={["note"]} action="Save" onSubmit={submit} onClose={onClose}>
      <TextField
        label="Note"
        name="note"
        isLong
        autoFocus
        maxLength={4_000}
        hint="For all operators."
        value={note}
        onChange={setNote}
      />
      {isTheirs && (
        <Notice icon={Users}>
          {before === ""
            ? "Another operator has deleted the note meanwhile."
            : `Another operator has written meanwhile. Saving replaces it: ${showInvisible(before)}`}
        </Notice>
      )}
    </FormDialog>
  );
}

const dialogs = { resolve: Resolve, ignore: Ignore, note: Note };

/** Changes a crash immediately; the toast can restore the previous state. */
function useDecision(appid: string, group: CrashGroup) {
  const queries = useQueryClient();

  async function decide(change: ChangeCrashGroupRequest) {
    await send(changeCrashGroup(appid, group.fingerprint, change));
    await refetch(queries, ["crashes", appid]);
  }

  return async (text: string, change: ChangeCrashGroupRequest): Promise<void> => {
    const { state, resolvedIn, ignoreUntil, note = "" } = group;
    await decide(change);
    const former = { state: known(state), resolvedIn, ignoreUntil };
    showToast(text, () => decide(change.state === undefined ? { note } : former));
  };
}
