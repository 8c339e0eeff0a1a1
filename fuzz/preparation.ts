import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Operation } from "./document.ts";
import type { Random } from "./random.ts";
import type { Seeder } from "./seeding.ts";
import { provider, type World } from "./world.ts";

type Known = Readonly<Record<string, unknown>>;

/** What some calls need of others before them, now and then. */
export async function prepare(
  { id }: Operation,
  world: World,
  random: Random,
  { helper, dataDir }: { readonly helper: Seeder; readonly dataDir: string },
): Promise<Known> {
  if (id === "loginSocialUser" && random.chance(0.5)) {
    const subject = `subject-${random.below(20)}`;
    return {
      identityProviderName: provider,
      identityID: subject,
      identityAccessToken: await world.signIdToken(subject),
    };
  }
  if (id === "resetPassword" && random.chance(0.15)) return requestCode(world, random, helper, dataDir);
  return {};
}

/** Asks for a code for somebody, and reads it in the mail. */
async function requestCode(world: World, random: Random, helper: Seeder, dataDir: string): Promise<Known> {
  const application = world.applications.find(({ name }) => name === "the arena");
  const users = world.clients.filter(
    (each) => each.kind === "user" && each.application === application && each.isAlive,
  );
  const user = random.pick(users);
  if (user === undefined || user.email === "") return {};
  const mark = random.word(16);
  try {
    const body = { userName: user.userName, subject: "Code", body: `@ResetCode ${mark}` };
    await helper.call(user, "POST /users/password", body);
  } catch {
    return {}; // too many at once, or the user is gone by now
  }
  const folder = path.join(dataDir, "mail");
  const mails = readdirSync(folder)
    .filter((name) => name.endsWith(".eml"))
    .sort()
    .slice(-20);
  for (const name of mails) {
    const code = new RegExp(`(\\S+) ${mark}`).exec(readFileSync(path.join(folder, name), "utf8"))?.[1];
    if (code === undefined) continue;
    user.isAlive = false; // it will have another password, and no tokens
    return { userName: user.userName, resetCode: code, newPassword: `password-${mark}` };
  }
  return {};
}
