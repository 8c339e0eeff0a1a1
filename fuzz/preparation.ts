import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "./actors.ts";
import type { Operation } from "./document.ts";
import type { Random } from "./random.ts";
import type { Seeder } from "./seeding.ts";
import { provider, type World } from "./world.ts";

/** Values made for a call, and the caller that has to make it. */
export interface Prepared {
  readonly values: Readonly<Record<string, unknown>>;
  readonly caller: Client | undefined;
}

/** Calls that some operations need to be made before them. */
export async function prepare(
  { id }: Operation,
  world: World,
  random: Random,
  mail: Mail,
): Promise<Prepared | undefined> {
  if (id === "loginSocialUser" && random.chance(0.5)) {
    const subject = `subject-${random.below(20)}`;
    const identityAccessToken = await world.issuer.sign({ sub: subject });
    const caller = random.pick(world.clients.filter(({ isAlive, application }) => isAlive && !application.isSandbox));
    return { values: { identityProviderName: provider, identityID: subject, identityAccessToken }, caller };
  }
  if (id === "resetPassword" && random.chance(0.15)) return prepareReset(world, random, mail);
  if (id === "verifyEmail" && random.chance(0.5)) return prepareVerification(world, random, mail);
  return undefined;
}

async function prepareReset(world: World, random: Random, mail: Mail): Promise<Prepared | undefined> {
  const user = pickUser(world, random);
  if (user === undefined || user.email === "") return undefined;
  const newPassword = `password-${random.word(16)}`;
  const given = { userName: user.userName, body: "@ResetCode" };
  const resetCode = await requestCode(user, "POST /users/password", given, random.word(16), mail);
  if (resetCode === undefined) return undefined;
  user.isAlive = false; // the reset changes the password and revokes all tokens
  const caller = world.clients.find((each) => each.kind === "device" && each.application === user.application);
  return { values: { userName: user.userName, resetCode, newPassword }, caller };
}

async function prepareVerification(world: World, random: Random, mail: Mail): Promise<Prepared | undefined> {
  const caller = pickUser(world, random);
  if (caller === undefined) return undefined;
  const given = { email: `${random.word(12)}@example.org`, body: "@VerifyCode" };
  const verifyCode = await requestCode(caller, "POST /users/me/email", given, random.word(16), mail);
  return verifyCode === undefined ? undefined : { values: { verifyCode, currentPassword: undefined }, caller };
}

/** What requests and reads mails. */
interface Mail {
  readonly helper: Seeder;
  readonly dataDir: string;
}

const readsMax = 20;
const readAgainMs = 25;

/** Requests a code, and reads it from the mail, which is written after the response. @param mark stands behind the code */
async function requestCode(
  user: Client,
  operation: string,
  given: { readonly body: string },
  mark: string,
  { helper, dataDir }: Mail,
): Promise<string | undefined> {
  try {
    await helper.call(user, operation, { ...given, subject: "Code", body: `${given.body} ${mark}` });
  } catch {
    return undefined; // rate limited, or the user has been deleted
  }
  let code: string | undefined;
  for (let reads = 0; reads < readsMax && code === undefined; reads += 1) {
    await sleep(readAgainMs);
    code = findCode(mark, dataDir);
  }
  return code;
}

function pickUser({ clients, applications }: World, random: Random): Client | undefined {
  const application = applications.find(({ name }) => name === "the arena");
  return random.pick(
    clients.filter((each) => each.kind === "user" && each.application === application && each.isAlive),
  );
}

/** Returns the code before a mark in one of the latest mails. */
function findCode(mark: string, dataDir: string): string | undefined {
  const folder = path.join(dataDir, "mail");
  if (!existsSync(folder)) return undefined; // no mail has been sent yet
  const mails = readdirSync(folder)
    .filter((name) => name.endsWith(".eml"))
    .sort()
    .slice(-20);
  const pattern = new RegExp(`(\\S+) ${mark}`);
  return mails.map((name) => pattern.exec(readFileSync(path.join(folder, name), "utf8"))?.[1]).find(Boolean);
}
