import { AuthBadUsernameOrPassword, ItemAlreadyExists, type Rollcall, RollcallError } from "@rollcall/sdk";
import { element, say, submit } from "./page.ts";

/** Signs the user of the form in, or up if nobody has the name yet. */
export function listenForSignIn(rollcall: Rollcall): void {
  const form = element("sign-in", HTMLFormElement);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fields = new FormData(form);
    const credentials = { userName: `${fields.get("userName")}`, password: `${fields.get("password")}` };
    void submit(form, async () => {
      try {
        say("");
        await signIn(rollcall, credentials);
        form.reset();
      } catch (error) {
        if (!(error instanceof RollcallError)) throw error;
        if (error instanceof AuthBadUsernameOrPassword)
          say("This name is taken, and the password is another one.", "bad");
        else say(`You could not be signed in: ${error.message}`, "bad");
      }
    });
  });
}

async function signIn(rollcall: Rollcall, credentials: { userName: string; password: string }): Promise<void> {
  try {
    await rollcall.signUp(credentials);
  } catch (error) {
    if (!(error instanceof ItemAlreadyExists)) throw error;
    await rollcall.signIn(credentials);
  }
}
