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
  { helper, dataDir }: { readonly helper: Seeder; readonly dataDir: string },
): Promise<Prepared | undefined> {
  if (id === "loginSocialUser" && random.chance(0.5)) {
    const subject = `subject-${random.below(20)}`;
    const identityAccessToken = await world.issuer.sign({ sub: subject });
    const caller = random.pick(world.clients.filter(({ isAlive, application }) => isAlive && !application.isSandbox));
    return { values: { identityProviderName: provider, identityID: subject, identityAccessToken }, caller };
  }
  if (id === "resetPassword" && random.chance(0.15)) return requestResetCode(world, random, helper, dataDir);
  if (id === "verifyEmail" && random.chance(0.5)) return requestEmailCode(world, random, helper, dataDir);
  return undefined;
}

/** Requests a code for a user, and reads it from the mail. */
async function requestResetCode(
  world: World,
  random: Random,
  helper: Seeder,
  dataDir: string,
): Promise<Prepared | undefined> {
  const user = pickUser(world, random);
  if (user === undefined || user.email === "") return undefined;
  const mark = random.word(16);
  try {
    const body = { userName: user.userName, subject: "Code", body: `@ResetCode ${mark}` };
    await helper.call(user, "POST /users/password", body);
  } catch {
    return undefined; // rate limited, or the user has been deleted
  }
  const code = findCode(mark, dataDir);
  if (code === undefined) return undefined;
  user.isAlive = false; // the reset changes the password and revokes all tokens
  const caller = world.clients.find((each) => each.kind === "device" && each.application === user.application);
  return { values: { userName: user.userName, resetCode: code, newPassword: `password-${mark}` }, caller };
}

/** Requests a code for a new address, and reads it from the mail. */
async function requestEmailCode(
  world: World,
  random: Random,
  helper: Seeder,
  dataDir: string,
): Promise<Prepared | undefined> {
  const user = pickUser(world, random);
  if (user === undefined) return undefined;
  const mark = random.word(16);
  try {
    const body = { email: `${random.word(12)}@example.org`, subject: "Code", body: `@VerifyCode ${mark}` };
    await helper.call(user, "POST /users/me/email", body);
  } catch {
    return undefined; // rate limited, or the user has been deleted
  }
  let verifyCode: string | undefined;
  // The mail is written after the response.
  for (let tries = 0; tries < 20 && verifyCode === undefined; tries += 1) {
    await sleep(25);
    verifyCode = findCode(mark, dataDir);
  }
  return verifyCode === undefined ? undefined : { values: { verifyCode, currentPassword: undefined }, caller: user };
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
