/** API calls that set up the data of a measurement. */

/** A response with its body unparsed. */
export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** The `result` of the envelope. */
  readonly result: Readonly<Record<string, unknown>>;
}

const answerMsMax = 30_000;

/** @throws when the response is no success */
export async function call(
  port: number,
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  token: string | undefined,
  parameters?: object,
): Promise<Reply> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    signal: AbortSignal.timeout(answerMsMax),
    headers: {
      ...(token !== undefined && { authorization: `Service ${token}` }),
      ...(parameters !== undefined && { "content-type": "application/json" }),
    },
    ...(parameters !== undefined && { body: JSON.stringify(parameters) }),
  });
  const body = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${body}`);
  const contentType = response.headers.get("content-type") ?? "";
  return { status: response.status, contentType, body, result: JSON.parse(body).result };
}

/** @throws when the result has no such text */
function textOf({ result }: Reply, name: string): string {
  const value = result[name];
  if (typeof value !== "string") throw new Error(`the response has no ${name}`);
  return value;
}

/** A user with a token. */
export interface BenchUser {
  readonly id: string;
  readonly token: string;
}

export const password = "correct horse battery staple";

export async function registerDevice(port: number, credentials: object, uniqueId: string): Promise<string> {
  const reply = await call(port, "POST", "/devices", undefined, { ...credentials, platform: "bench", uniqueId });
  return textOf(reply, "accessToken");
}

export async function signUp(port: number, deviceToken: string, username: string): Promise<BenchUser> {
  const reply = await call(port, "POST", "/users", deviceToken, { username, password });
  return { id: textOf(reply, "id"), token: textOf(reply, "accessToken") };
}

/** @returns the check-in's id */
export async function checkIn(port: number, { token }: BenchUser, comment: string): Promise<string> {
  const reply = await call(port, "POST", "/checkins", token, { location: "48.2082,16.3738", comment });
  return textOf(reply, "id");
}

/** Sets a key of the application, in the user's own slot. */
export async function putMetadata(port: number, { token }: BenchUser, key: string, value: unknown): Promise<void> {
  await call(port, "PUT", `/metadata/app/${key}`, token, { value });
}
