import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Toasts } from "../ui/toast.tsx";
import { useHandedPassword } from "./handed-password.ts";
import { PasswordForm } from "./password.form.tsx";
import { leaveConsole } from "./sign-out.ts";

/** The only page of an operator whose password was written to a log: the server refuses everything else. */
export function FirstPassword() {
  const password = useHandedPassword();
  return (
    <>
      <Dialog title="Choose your own password" isSticky onClose={() => undefined}>
        <p>
          The password that you signed in with was written to the log of the server, where others may read it. Nothing
          else opens until you have set another one.
        </p>
        <PasswordForm known={password} beside={<Button onPress={() => void leaveConsole()}>Sign out</Button>} />
      </Dialog>
      <Toasts />
    </>
  );
}
