import { useState } from "react";
import { send } from "../api/send.ts";
import { createOperatorSession } from "../api/sessions.ts";
import { Button } from "../ui/button.tsx";
import { Checkbox, Form, TextField } from "../ui/fields.tsx";
import { enterEverywhere } from "./session.ts";
import styles from "./sign-in.module.css";

interface SignInFormProps {
  readonly name?: string;
  readonly onSignedIn: (password: string) => Promise<void>;
}

export function SignInForm({ name: known, onSignedIn }: SignInFormProps) {
  const [name, setName] = useState(known ?? "");
  const [password, setPassword] = useState("");
  const [isPersistent, setPersistent] = useState(false);

  async function submit() {
    await send(createOperatorSession({ name, password, cookie: true, isPersistent }));
    enterEverywhere();
    setPassword("");
    await onSignedIn(password);
  }

  return (
    <Form fields={["name", "password"]} onSubmit={submit}>
      {({ isPending, problem }) => (
        <>
          <TextField
            label="Name"
            name="name"
            autoComplete="username"
            isRequired
            isReadOnly={known !== undefined}
            value={name}
            onChange={setName}
          />
          <TextField
            label="Password"
            name="password"
            type="password"
            autoComplete="current-password"
            isRequired
            value={password}
            onChange={setPassword}
          />
          <Checkbox isSelected={isPersistent} onChange={setPersistent}>
            Stay signed in on this computer
          </Checkbox>
          {problem}
          <div className={styles.submit}>
            <Button kind="primary" type="submit" isPending={isPending}>
              Sign in
            </Button>
          </div>
        </>
      )}
    </Form>
  );
}
