import type { TestIssuer } from "../server/test/oidc-issuer.ts";
import type { Application, Client, Operator } from "./actors.ts";
import type { Deployment } from "./deployment.ts";
import { buildSandboxes } from "./upkeep.ts";
import {
  createApplication,
  createOperator,
  createUser,
  disabledOperations,
  registerDevice,
  type Seeding,
  setProvider,
  type World,
} from "./world.ts";

/**
 * Creates the world: an arena with many callers, a vault of users that the callers must not reach, an application with
 * signed requests, one with disabled operations, sandboxes for operators, and in each of them users who must stay
 * unchanged.
 */
export async function found(root: Deployment["root"], issuer: TestIssuer, seeding: Seeding): Promise<World> {
  const { seeder, markers, random } = seeding;
  const session = await seeder.call(undefined, "POST /_/api/sessions", { name: root.name, password: root.password });
  const owner: Operator = {
    kind: "operator",
    name: "root",
    token: markers.add(session.token, "the session of root", { isForOperators: false }),
    isAlive: true,
    operatorId: session.operator.id,
    role: "owner",
    operatorName: root.name,
    password: markers.add(root.password, "the password of root", { isForOperators: false }),
    pageTokens: [],
  };
  const arena = await createApplication("the arena", owner, seeding);
  const vault = await createApplication("the vault", owner, seeding);
  const narrow = await createApplication("the narrow one", owner, seeding, { isNarrow: true });
  const secret = markers.add(random.word(64), "the shared secret", { isForOperators: false });
  const signing = await createApplication("the signing one", owner, seeding, { secret });
  const smtpPassword = markers.add(random.word(64), "the password of a mail server", { isForOperators: false });
  for (const each of [arena, vault, narrow, signing]) await setProvider(each, issuer, owner, seeder);
  const settings = "/_/api/applications";
  await seeder.call(owner, `PATCH ${settings}/${vault.appid}/settings`, {
    mail: { from: "a@b.example", smtpUrl: `smtp://someone:${smtpPassword}@127.0.0.1:9` },
  });

  const clients: Client[] = [];
  for (const [application, users, devices] of [
    [arena, 8, 2],
    [vault, 2, 1],
    [signing, 2, 1],
    [narrow, 2, 1],
  ] as const) {
    for (let n = 0; n < users; n += 1)
      clients.push(await createUser(application, `${n} in ${application.name}`, seeding));
    for (let n = 0; n < devices; n += 1)
      clients.push(await registerDevice(application, `device ${n} in ${application.name}`, seeding));
  }
  const bystanders = [
    await createUser(arena, "the bystander in the arena", seeding, { isCaller: false }),
    await createCelebrity(arena, seeding),
    await createUser(vault, "the bystander in the vault", seeding, { isCaller: false }),
    await createUser(signing, "the bystander in the signing one", seeding, { isCaller: false }),
  ];
  await seeder.call(owner, `PUT ${settings}/${signing.appid}/signing-secret`, { secret });
  await seeder.call(owner, `PATCH ${settings}/${signing.appid}/settings`, { signedRequests: "required" });
  await seeder.call(owner, `PATCH ${settings}/${narrow.appid}/settings`, { disabledOperations });

  const operators: Operator[] = [];
  for (const role of ["viewer", "viewer", "editor", "editor", "owner", "owner"] as const) {
    operators.push(await createOperator(role, owner, seeding));
  }
  const world: World = {
    applications: [arena, vault, signing, narrow],
    clients,
    operators,
    madeOperators: [],
    bystanders,
    bystandingOperator: await createOperator("viewer", owner, seeding),
    root: owner,
    deadTokens: await createRevokedTokens(arena, seeding),
    keyed: [await createStoredResponse(bystanders, seeding)],
    issuer,
  };
  await buildSandboxes(world, seeding);
  return world;
}

/** A user whom other users cannot find or read. */
async function createCelebrity(application: Application, seeding: Seeding): Promise<Client> {
  const user = await createUser(application, "the celebrity", seeding, { isCaller: false });
  const own = { ownerId: user.userId, isForOperators: true };
  await seeding.seeder.call(user, "PATCH /users/me", {
    celebMode: true,
    firstName: seeding.markers.make("the first name of the celebrity", own),
    lastName: seeding.markers.make("the last name of the celebrity", own),
  });
  return user;
}

async function createRevokedTokens(application: Application, seeding: Seeding): Promise<string[]> {
  const { seeder, random } = seeding;
  const device = await registerDevice(application, "a device of the dead", seeding);
  const tokens: string[] = [];
  for (const ending of ["POST /users/me/logout", "DELETE /users/me"]) {
    const signUp = { username: random.word(16), password: random.word(16) };
    const { accessToken } = await seeder.call(device, "POST /users", signUp);
    await seeder.call({ ...device, kind: "user", token: accessToken }, ending);
    tokens.push(accessToken);
  }
  return tokens;
}

/** A stored response that belongs to one caller and has a token in it. */
async function createStoredResponse([bystander]: readonly Client[], { seeder, markers, random }: Seeding) {
  const key = `kept-${random.word(12)}`;
  const parameters = { username: `kept-${random.word(12)}`, password: random.word(16) };
  const { accessToken } = await seeder.call(bystander, "POST /users", parameters, { "Idempotency-Key": key });
  markers.add(accessToken, "the token in a stored response", { isForOperators: false });
  return { key, parameters };
}
