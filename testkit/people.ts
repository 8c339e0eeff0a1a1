/** A client that makes calls which must succeed. */
interface Caller {
  call(
    operation: string,
    options: { readonly token?: string; readonly body: object },
  ): Promise<{
    // biome-ignore lint/suspicious/noExplicitAny: the body of a success, which the caller has checked
    readonly body: any;
  }>;
}

/** The credentials of an application. */
interface OfApplication {
  readonly application: { readonly appid: string; readonly appkey: string };
}

/** A device, and the user who signed up on it. */
export interface Person {
  readonly deviceToken: string;
  readonly token: string;
}

/** That of all users. */
export const password = "a good password";

/** Returns the token of a new device. */
export async function registerDevice(api: Caller, { application }: OfApplication): Promise<string> {
  const { body } = await api.call("POST /devices", { body: { ...application, platform: "test" } });
  return body.result.accessToken;
}

/** Creates a user on a new device. */
export async function signUp(api: Caller, deployment: OfApplication, username: string): Promise<Person> {
  const deviceToken = await registerDevice(api, deployment);
  const { body } = await api.call("POST /users", { token: deviceToken, body: { username, password } });
  return { deviceToken, token: body.result.accessToken };
}
