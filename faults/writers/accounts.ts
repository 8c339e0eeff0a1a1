import type { Api } from "../api.ts";
import { HalfWritten, Register } from "../ledger.ts";
import type { Writer } from "../writer.ts";

const passwords = ["the first password", "the second password"] as const;
const refused = [401, 403] as const;

/**
 * Signs a user up, signs in, changes the password, which revokes the token of the sign-up, logs out, and deletes every
 * third user. Revoked tokens and deleted users must not return.
 */
export const writeAccounts: Writer = ({ ledger, newName }, { deviceToken }) => {
  let count = 0;
  return async (api) => {
    const username = newName();
    const password = passwords[0];
    const signUp = new Register(ledger, `user ${username}`, "absent", async (api) =>
      (await readPassword(api, deviceToken, username)) === "none" ? "absent" : "there",
    );
    const account = { username, password, email: "ada@example.com" };
    const created = await signUp.write("there", () => api.call("POST /users", { token: deviceToken, body: account }));
    const first: string = created.body.result.accessToken;
    const user = new Register(ledger, `password and token of ${username}`, `${password}, live`, async (api) =>
      [await readPassword(api, deviceToken, username), await readToken(api, first)].join(", "),
    );

    const token = await signIn(api, deviceToken, username, password);
    const session = new Register(ledger, `token of ${username}`, "live", (api) => readToken(api, token));
    const change = { currentPassword: password, password: passwords[1] };
    await user.write(`${passwords[1]}, ended`, () => api.call("PATCH /users/me", { token, body: change }));
    await session.write("ended", () => api.call("POST /users/me/logout", { token, body: {} }));

    count += 1;
    if (count % 3 !== 0) return;
    const last = await signIn(api, deviceToken, username, passwords[1]);
    const lastSession = new Register(ledger, `last token of ${username}`, "live", (api) => readToken(api, last));
    await signUp.write("absent", () =>
      user.write("none, ended", () => lastSession.write("ended", () => api.call("DELETE /users/me", { token: last }))),
    );
  };
};

async function signIn(api: Api, deviceToken: string, username: string, password: string): Promise<string> {
  const { body } = await api.call("POST /users/login", { token: deviceToken, body: { username, password } });
  return body.result.accessToken;
}

/** The password that signs in, or "none". */
async function readPassword(api: Api, deviceToken: string, username: string): Promise<string> {
  const good: string[] = [];
  for (const password of passwords) {
    const body = { username, password };
    const { status } = await api.call("POST /users/login", { token: deviceToken, body, expected: refused });
    if (status === 200) good.push(password);
  }
  if (good.length > 1) throw new HalfWritten("both passwords are valid");
  return good[0] ?? "none";
}

async function readToken(api: Api, token: string): Promise<string> {
  const { status } = await api.call("GET /users/me", { token, expected: refused });
  return status === 200 ? "live" : "ended";
}
