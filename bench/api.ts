/** API calls that set up the data of a measurement. */
import { Agent } from "node:http";
import { type Answer, send } from "../testkit/http.ts";

const answerMsMax = 30_000;
/** Calls beside a measurement open no connections. */
const agent = new Agent({ keepAlive: true });

/** @throws when the response is no success */
export async function call(
  port: number,
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  token: string | undefined,
  parameters?: object,
): Promise<Answer> {
  const answer = await send({ port }, method, path, { token, body: parameters, timeoutMs: answerMsMax, agent });
  if (answer.status < 200 || answer.status > 299) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer;
}

/** A user with a token. */
export interface BenchUser {
  readonly id: string;
  readonly token: string;
}

export const password = "correct horse battery staple";

export async function registerDevice(port: number, credentials: object, uniqueId: string): Promise<string> {
  const { body } = await call(port, "POST", "/devices", undefined, { ...credentials, platform: "bench", uniqueId });
  return body.result.accessToken;
}

export async function signUp(port: number, deviceToken: string, username: string): Promise<BenchUser> {
  const { body } = await call(port, "POST", "/users", deviceToken, { username, password });
  return { id: body.result.id, token: body.result.accessToken };
}

/** @returns the check-in's id */
export async function checkIn(port: number, { token }: BenchUser, comment: string): Promise<string> {
  const { body } = await call(port, "POST", "/checkins", token, { location: "48.2082,16.3738", comment });
  return body.result.id;
}

/** Sets a key of the application, in the user's own slot. */
export async function putMetadata(port: number, { token }: BenchUser, key: string, value: unknown): Promise<void> {
  await call(port, "PUT", `/metadata/app/${key}`, token, { value });
}
