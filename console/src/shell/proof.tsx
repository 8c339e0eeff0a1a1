import { useState, useSyncExternalStore } from "react";
import { send } from "../api/send.ts";
import { proveOperatorPassword } from "../api/sessions.ts";
import { CallError } from "../lib/call-error.ts";
import { TextField } from "../ui/fields.tsx";
import { FormDialog } from "../ui/form-dialog.tsx";

interface Question {
  readonly onProved: () => void;
  readonly onCancel: () => void;
}

const listeners = new Set<() => void>();
let question: Question | undefined;

/** Runs a call; if the server requires a recent password, asks the operator for it and runs the call again. */
export async function withProof<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof CallError) || error.condition !== "AuthReauthenticationRequired") throw error;
  }
  await new Promise<void>((resolve, reject) => {
    const canceled = new CallError(0, { error: "Canceled", message: "Nothing was done: it needs your password." });
    setQuestion({ onProved: resolve, onCancel: () => reject(canceled) });
  });
  return run();
}

/** The dialog of `withProof`, in the frame. */
export function PasswordQuestion() {
  const asked = useSyncExternalStore(subscribe, () => question);
  const [password, setPassword] = useState("");
  if (asked === undefined) return null;

  function close() {
    setPassword("");
    setQuestion(undefined);
  }

  async function submit() {
    await send(proveOperatorPassword({ password }));
    close();
    asked?.onProved();
  }

  function cancel() {
    close();
    asked?.onCancel();
  }

  return (
    <FormDialog
      title="Confirm your password"
      lead={<p>This changes who may do what. It asks for the password again after ten minutes.</p>}
      fields={["password"]}
      action="Continue"
      onSubmit={submit}
      onClose={cancel}
    >
      <TextField
        label="Your password"
        name="password"
        type="password"
        autoComplete="current-password"
        autoFocus
        isRequired
        value={password}
        onChange={setPassword}
      />
    </FormDialog>
  );
}

function setQuestion(next: Question | undefined): void {
  question = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
