import type { Actor, Application, Client } from "./actors.ts";
import type { Answer } from "./connection.ts";
import type { Plan } from "./plan.ts";
import { newClient, newPools, type Result } from "./seeding.ts";
import type { World } from "./world.ts";

const listMax = 30;

/** Collects ids and tokens for later calls from a response, and records the tokens that the call has revoked. */
export function learn({ operation, caller, content, isAuthentic, isBroken }: Plan, answer: Answer, world: World): void {
  if (caller === undefined || !isAuthentic || isBroken) return;
  if (isEnded(caller, operation.id, answer)) caller.isAlive = false;
  if (answer.status >= 300) return;
  const result = resultOf(answer);
  if (caller.kind === "operator") learnAsOperator(operation.id, caller, content.path, result, world);
  else learnAsClient(operation.id, caller, content, answer, result);
  for (const token of [result?.currentToken, result?.nextToken, result?.previousToken]) {
    if (typeof token === "string") keepLast(caller.pageTokens, token);
  }
}

/** Whether the response reports that the token is no longer valid. */
function isEnded({ kind }: Actor, operation: string, { status, text }: Answer): boolean {
  if (status !== 401) return false;
  if (kind === "operator") return operation !== "createOperatorSession" && text.includes('"AuthFailed"');
  return text.includes('"AuthAccessTokenInvalid"');
}

/** Operations that revoke the token they are called with, or may. */
const ending: ReadonlySet<string> = new Set(["deleteUser", "logoutUser", "changeOwnOperator", "deleteOperatorSession"]);

function learnAsClient(
  operation: string,
  caller: Client,
  { path, body, headers }: Plan["content"],
  answer: Answer,
  result: Result,
): void {
  const { application, own } = caller;
  if (ending.has(operation)) caller.isAlive = false;
  if (operation === "changeUser" && body.some(([name]) => /^(password|username)$/i.test(name))) caller.isAlive = false;
  if (operation === "createUser") {
    const password = body.find(([name]) => name.toLowerCase() === "password")?.[1];
    if (typeof password !== "string" || result === undefined) return;
    const { id: userId, userName, accessToken: token } = result;
    const made = newClient({
      ...caller,
      ...newPools(),
      kind: "user",
      name: `the made ${userName}`,
      token,
      userId,
      userName,
      password,
    });
    made.isAlive = true;
    keepLast(application.victims, made);
    application.all.add(userId);
    return;
  }
  if (operation === "listTokens") {
    for (const { id, current } of result?.pageResults ?? []) if (!current) own.add(id);
    return;
  }
  if (operation === "createUpload") {
    const id = answer.headers.get("location")?.split("/").at(-1);
    const length =
      Number(headers.find(([name]) => name === "Upload-Length")?.[1]) -
      Number(answer.headers.get("upload-offset") ?? 0);
    if (id !== undefined) own.add(`upl|${id}|${length}`);
    return;
  }
  if (operation.startsWith("delete") || operation === "endMetricEvent") {
    const id = /[a-z]{3}_\w{26}/.exec(path)?.[0];
    if (id !== undefined) own.remove(id);
    return;
  }
  if (typeof result?.signedUrl === "string") keepLast(caller.signedUrls, result.signedUrl);
  if (answer.status === 201 && typeof result?.id === "string") {
    own.add(result.id);
    application.all.add(result.id);
  }
}

function learnAsOperator(operation: string, caller: Actor, path: string, result: Result, world: World): void {
  if (ending.has(operation)) caller.isAlive = false;
  const appid = /app_\w{26}/.exec(path)?.[0];
  const application: Application | undefined = world.applications.find((each) => each.appid === appid);
  switch (operation) {
    case "createOperator":
      if (result?.id !== undefined) keepLast(world.madeOperators, result.id);
      return;
    case "listCrashGroups":
      for (const { fingerprint } of result?.pageResults ?? [])
        if (application) keepLast(application.fingerprints, fingerprint);
      return;
    case "createPublicLocation":
      if (application && result?.id !== undefined) keepLast(application.publicLocations, result.id);
      return;
    case "listApplicationKeys":
    case "listWebhooks":
      for (const { id } of result?.pageResults ?? []) application?.all.add(id);
      return;
    case "listWebhookDeliveries":
      for (const { id } of result?.pageResults ?? [])
        if (application) keepLast(application.deliveries, [/whk_\w{26}/.exec(path)?.[0] ?? "", id]);
      return;
    case "createWebhook":
    case "createApplicationKey":
      if (result?.id !== undefined) application?.all.add(result.id);
      return;
    case "listTokensOfUser":
      if (application)
        for (const { id } of result?.pageResults ?? []) keepLast(application.tokens, [userIdIn(path), id]);
      return;
    case "deleteApplication":
      if (application) application.isAlive = false;
      return;
    default:
      return;
  }
}

function userIdIn(path: string): string {
  return /usr_\w{26}/.exec(path)?.[0] ?? "";
}

function keepLast<T>(list: T[], item: T): void {
  list.push(item);
  if (list.length > listMax) list.shift();
}

function resultOf({ headers, text }: Answer): Result {
  return headers.get("content-type") === "application/json" ? JSON.parse(text).result : undefined;
}
