import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { changeOwnPassword } from "../api/operators.ts";
import { Button } from "../ui/button.tsx";
import { Form, TextField } from "../ui/fields.tsx";
import { showToast } from "../ui/toast.tsx";
import { sessionQuery } from "./session.ts";

/** Changes the operator's own password, which ends the other sessions. */
export function PasswordForm() {
  const [currentPassword, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const queries = useQueryClient();

  async function submit() {
    await changeOwnPassword({ password, currentPassword });
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
          <TextField
            label="Current password"
            name="currentPassword"
            type="password"
            autoComplete="current-password"
            isRequired
            value={currentPassword}
            onChange={setCurrent}
          />
          <TextField
            label="New password"
            name="password"
            type="password"
            autoComplete="new-password"
            hint="12 characters or more."
            isRequired
            minLength={12}
            value={password}
            onChange={setPassword}
          />
          {problem}
          <div>
            <Button kind="primary" type="submit" isPending={isPending}>
              Change the password
            </Button>
          </div>
        </>
      )}
    </Form>
  );
}
