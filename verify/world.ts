import { randomBytes } from "node:crypto";
import type { Answer, CallOptions, Client } from "./client.ts";
import { expectResult } from "./expect.ts";
import type { Receiver } from "./receiver.ts";

/** An application's credentials. */
export interface Application {
  readonly appid: string;
  readonly appkey: string;
}

/** Finds the token of a caller, or the user who has it. */
type Caller = (world: World) => Promise<string | { readonly token: string }>;

/** The context of all checks: the deployment and its applications. */
export interface World extends Client {
  /** Sends a request as `Client.call` does, with the token of the caller if one is given. */
  call(operation: string, options?: CallOptions & { readonly by?: Caller }): Promise<Answer>;
  readonly application: Application;
  /** A second application of the same deployment, if given. */
  readonly otherApplication: Application | undefined;
  /** Of an operator of the deployment, if given. */
  readonly operatorToken?: string | undefined;
  /** Where the deployment's webhooks reach this process, if given. */
  readonly receiver?: Receiver | undefined;
}

export function createWorld(client: Client, surroundings: Omit<World, keyof Client>): World {
  const world: World = {
    ...client,
    ...surroundings,
    async call(operation, { by, ...options } = {}) {
      const caller = await by?.(world);
      const token = typeof caller === "object" ? caller.token : caller;
      return client.call(operation, token === undefined ? options : { ...options, token });
    },
  };
  return world;
}

/** A user that a check created. */
export interface TestUser {
  readonly id: string;
  readonly userName: string;
  readonly password: string;
  readonly token: string;
  readonly deviceToken: string;
}

/** A name that no other run uses. */
export function uniqueName(prefix = "verify"): string {
  return `${prefix}-${randomBytes(8).toString("hex")}`;
}

/** Registers a new device and returns its token. */
export async function registerDevice(world: World, application = world.application): Promise<string> {
  const body = { ...application, platform: "verify", uniqueId: uniqueName("device") };
  return expectResult(await world.call("POST /devices", { body }), 201).accessToken;
}

/** Creates a user on a new device. */
export async function signUp(world: World, application = world.application, profile = {}): Promise<TestUser> {
  const deviceToken = await registerDevice(world, application);
  const userName = uniqueName("user");
  const password = uniqueName("password");
  const body = { ...profile, username: userName, password };
  const answer = await world.call("POST /users", { token: deviceToken, body });
  const { id, accessToken } = expectResult(answer, 200);
  return { id, userName, password, token: accessToken, deviceToken };
}

/** A value that several checks read and none changes: created once per run, when first needed. */
export function shared<T>(make: (world: World) => Promise<T>): (world: World) => Promise<T> {
  const made = new WeakMap<World, Promise<T>>();
  return (world) => {
    const found = made.get(world) ?? make(world);
    made.set(world, found);
    return found;
  };
}

/** A device token that no check revokes. */
export const sharedDevice = shared((world) => registerDevice(world));

/** A user that no check changes, except for its check-ins and identities. */
export const sharedUser = shared((world) => signUp(world));

/** A second such user. */
export const otherUser = shared((world) => signUp(world));

/** A check-in of the shared user, as POST returned it. */
export const sharedCheckin = shared(async (world): Promise<Answer["body"]> => {
  const body = { location: "48.2082,16.3738", comment: "Hello", description: "A place" };
  return expectResult(await world.call("POST /checkins", { by: sharedUser, body }), 201);
});

/** Creates a user with more than a name and a password. */
export async function signUpWith(world: World, profile: object): Promise<TestUser> {
  return signUp(world, world.application, profile);
}

/** Changes a user's profile or settings and returns it. */
export async function changeUser(world: World, user: TestUser, fields: object): Promise<Answer["body"]> {
  return expectResult(await world.call("PATCH /users/me", { token: user.token, body: fields }));
}

/** Logs a user in again. */
export async function logIn(world: World, user: TestUser): Promise<string> {
  const body = { username: user.userName, password: user.password };
  return expectResult(await world.call("POST /users/login", { token: user.deviceToken, body }), 200).accessToken;
}
