import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { changeOwnOperator } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { fieldErrors } from "../lib/call-error.ts";
import { Button } from "../ui/button.tsx";
import { DialogActions } from "../ui/dialog.tsx";
import { Form, TextField } from "../ui/fields.tsx";
import { showToast } from "../ui/toast.tsx";
import { sessionQuery } from "./session.ts";

interface PasswordFormProps {
  /** The current password, if the operator has just typed it. */
  readonly known?: string | undefined;
  /** Before the button. */
  readonly beside?: ReactNode;
}

/** Changes the operator's own password, which revokes the other sessions. */
export function PasswordForm({ known, beside }: PasswordFormProps) {
  const [currentPassword, setCurrent] = useState(known ?? "");
  const [isAsked, setAsked] = useState(known === undefined);
  const [password, setPassword] = useState("");
  const queries = useQueryClient();

  async function submit() {
    try {
      await send(changeOwnOperator({ password, currentPassword }));
    } catch (error) {
      if (!("password" in fieldErrors(error))) setAsked(true); // the current password may have changed
      throw error;
    }
    setCurrent("");
    setPassword("");
    showToast("Changed the password. Your other sessions have ended.");
    await queries.fetchQuery({ ...sessionQuery, staleTime: 0 });
    await queries.invalidateQueries();
  }

  return (
    <Form fields={["currentPassword", "password"]} onSubmit={submit}>
      {({ isPending, problem }) => (
        <>
          {isAsked && (
            <TextField
              label="Current password"
              name="currentPassword"
              type="password"
              autoComplete="current-password"
              isRequired
              value={currentPassword}
              onChange={setCurrent}
            />
          )}
          <TextField
            label="New password"
            name="password"
            type="password"
            autoComplete="new-password"
            hint="12 characters or more."
            autoFocus={known !== undefined}
            isRequired
            minLength={12}
            value={password}
            onChange={setPassword}
          />
          {problem}
          <DialogActions>
            {beside}
            <Button kind="primary" type="submit" isPending={isPending}>
              Change the password
            </Button>
          </DialogActions>
        </>
      )}
    </Form>
  );
}
