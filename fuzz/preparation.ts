import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
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
  if (id === "resetPassword" && random.chance(0.15)) return requestCode(world, random, helper, dataDir);
  return undefined;
}

/** Requests a code for a user, and reads it from the mail. */
async function requestCode(
  world: World,
  random: Random,
  helper: Seeder,
  dataDir: string,
): Promise<Prepared | undefined> {
  const application = world.applications.find(({ name }) => name === "the arena");
  const users = world.clients.filter(
    (each) => each.kind === "user" && each.application === application && each.isAlive,
  );
  const user = random.pick(users);
  if (user === undefined || user.email === "") return undefined;
  const mark = random.word(16);
  try {
    const body = { userName: user.userName, subject: "Code", body: `@ResetCode ${mark}` };
    await helper.call(user, "POST /users/password", body);
  } catch {
    return undefined; // rate limited, or the user has been deleted
  }
  const folder = path.join(dataDir, "mail");
  if (!existsSync(folder)) return undefined; // no mail has been sent yet
  const mails = readdirSync(folder)
    .filter((name) => name.endsWith(".eml"))
    .sort()
    .slice(-20);
  for (const name of mails) {
    const code = new RegExp(`(\\S+) ${mark}`).exec(readFileSync(path.join(folder, name), "utf8"))?.[1];
    if (code === undefined) continue;
    user.isAlive = false; // the reset changes the password and revokes all tokens
    const caller = world.clients.find((each) => each.kind === "device" && each.application === application);
    return { values: { userName: user.userName, resetCode: code, newPassword: `password-${mark}` }, caller };
  }
  return undefined;
}
