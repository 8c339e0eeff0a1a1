import type { Api } from "./api.ts";
import type { Deployment } from "./deployment.ts";
import type { Person } from "./writer.ts";

type OfApplication = Pick<Deployment, "application">;

/** That of all users. */
export const password = "a good password";

/** Returns the token of a new device. */
export async function registerDevice(api: Api, { application }: OfApplication): Promise<string> {
  const { body } = await api.call("POST /devices", { body: { ...application, platform: "faults" } });
  return body.result.accessToken;
}

/** Creates a user on a new device. */
export async function signUp(api: Api, deployment: OfApplication, username: string): Promise<Person> {
  const deviceToken = await registerDevice(api, deployment);
  const { body } = await api.call("POST /users", { token: deviceToken, body: { username, password } });
  return { deviceToken, token: body.result.accessToken };
}
