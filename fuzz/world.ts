import type { TestIssuer } from "../server/test/oidc-issuer.ts";
import { type Application, type Client, createPool, type Operator } from "./actors.ts";
import type { Markers } from "./markers.ts";
import type { Random } from "./random.ts";
import { newClient, type Seeder } from "./seeding.ts";
import { seedUser } from "./seeding-users.ts";

/** All callers, and all objects that calls can refer to. */
export interface World {
  readonly applications: Application[];
  /** The users and devices that make calls. */
  readonly clients: Client[];
  readonly operators: Operator[];
  /** Ids of operators that calls may change or delete. */
  readonly madeOperators: string[];
  /** Users and devices that make no calls: their data must stay unchanged. */
  readonly bystanders: readonly Client[];
  readonly bystandingOperator: Operator;
  /** The owner that reads and creates everything. */
  readonly root: Operator;
  /** Tokens that are not valid any more. */
  readonly deadTokens: string[];
  /** Idempotency keys of bystanders, with their requests. */
  readonly keyed: readonly { readonly key: string; readonly parameters: object }[];
  /** The identity provider of the applications, which issues tokens for `loginSocialUser`. */
  readonly issuer: TestIssuer;
}

/** The tools to create worlds, and to replace missing objects in them. */
export interface Seeding {
  readonly seeder: Seeder;
  readonly markers: Markers;
  readonly random: Random;
}

/** Operations that are disabled in one of the applications. */
export const disabledOperations = ["POST /checkins", "GET /blobs", "PUT /metadata/app/{key}", "GET /users/me"];

export const provider = "google";

export async function createApplication(
  name: string,
  root: Operator,
  { seeder, markers }: Seeding,
  { isSandbox = false, isNarrow = false, secret }: Partial<Pick<Application, "isSandbox" | "isNarrow" | "secret">> = {},
): Promise<Application> {
  const { appid, appkey } = await seeder.call(root, "POST /_/api/applications", { name });
  if (!isSandbox) markers.add(appkey, `the key of ${name}`, { isForOperators: false });
  const application = {
    name,
    appid,
    appkey,
    isSandbox,
    isNarrow,
    isAlive: true,
    uses: 0,
    all: createPool(),
    fingerprints: [],
    publicLocations: [],
    tokens: [],
    deliveries: [],
    victims: [],
  };
  return secret === undefined ? application : { ...application, secret };
}

export async function registerDevice(application: Application, name: string, seeding: Seeding): Promise<Client> {
  const { seeder, markers, random } = seeding;
  const uniqueId = `fuzz-${random.word(16)}`;
  const registration = { appid: application.appid, appkey: application.appkey, platform: "fuzz", uniqueId };
  const { accessToken } = await seeder.call(undefined, "POST /devices", registration);
  const unknown = newClient({ kind: "device", name, application, token: accessToken, deviceId: "" });
  const { id } = await seeder.call(unknown, "GET /devices/current");
  const device = { ...unknown, deviceId: id };
  const audience = { ownerId: id, isForOperators: true };
  markers.add(accessToken, `the token of ${name}`, { ownerId: id, isForOperators: false });
  await seeder.call(device, "PATCH /devices/current", {
    pushToken: markers.make(`pushToken of ${name}`, audience),
    tag: markers.make(`tag of the device ${name}`, audience),
    model: markers.make(`model of ${name}`, audience),
  });
  application.all.add(id);
  return device;
}

/** A user with objects of all kinds, private and shared. */
export async function createUser(
  application: Application,
  name: string,
  seeding: Seeding,
  options: Parameters<typeof seedUser>[3] = {},
): Promise<Client> {
  return seedUser(await registerDevice(application, name, seeding), name, seeding, options);
}

export async function createOperator(
  role: Operator["role"],
  root: Operator,
  { seeder, markers, random }: Seeding,
): Promise<Operator> {
  const operatorName = `${role}-${random.word(12)}`;
  const created = await seeder.call(root, "POST /_/api/operators", { name: operatorName, role });
  const { password } = created;
  markers.add(password, `the password of ${operatorName}`, { isForOperators: false });
  const session = await seeder.call(undefined, "POST /_/api/sessions", { name: operatorName, password });
  markers.add(session.token, `the session of ${operatorName}`, { isForOperators: false });
  return {
    kind: "operator",
    name: operatorName,
    token: session.token,
    isAlive: true,
    operatorId: created.id,
    role,
    operatorName,
    password,
    pageTokens: [],
  };
}

/** Lets users of the provider log in to the application. */
export async function setProvider(
  { appid }: Application,
  issuer: TestIssuer,
  root: Operator,
  seeder: Seeder,
): Promise<void> {
  await seeder.call(root, `PUT /_/api/applications/${appid}/settings`, { oidc: { [provider]: issuer.provider } });
}
