import { type BenchUser, call, checkIn, putMetadata, registerDevice, signUp } from "./api.ts";
import { createApplication, type Deployment, type Engine } from "./engine.ts";
import { randomFile, upload } from "./file-transfer.ts";
import { numberMark } from "./load-plan.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

/** A running server with an application, a device, users and check-ins. */
export interface Fixture {
  readonly engine: Engine;
  readonly deployment: Deployment;
  readonly server: ServerProcess;
  readonly credentials: { readonly appid: string; readonly appkey: string };
  readonly deviceToken: string;
  /** The user that reads its own profile, its 100 check-ins and its 100 keys of the application. */
  readonly reader: BenchUser;
  readonly checkinId: string;
  /** A file of the reader, of `smallFileBytes`. */
  readonly blobId: string;
  /** The user that creates check-ins. */
  readonly writer: BenchUser;
}

/** How many users can log in, by the names of `loginName`. */
export const loginUsersMax = 32;

/** @param number ten digits, or the mark that is replaced by them */
export function loginName(number: string): string {
  return `login-user-${number}`;
}

export const smallFileBytes = 10_000;

const readableCheckins = 100;
const readableKeys = 100;

/** Starts a server on a new database, measures its memory before the first user, and fills it. */
export async function startFixture(
  engine: Engine,
  whenIdle: (server: ServerProcess) => Promise<void>,
): Promise<Fixture> {
  const deployment = await engine.newDeployment();
  const credentials = await createApplication(deployment);
  const server = await startServer(deployment.settings, deployment.program);
  await whenIdle(server);

  const { port } = server;
  const deviceToken = await registerDevice(port, credentials, "bench-fixture-0000000000");
  const reader = await signUp(port, deviceToken, "reader");
  const writer = await signUp(port, deviceToken, "writer");
  await Promise.all(
    Array.from({ length: loginUsersMax }, (_, index) =>
      signUp(port, deviceToken, loginName(String(index).padStart(numberMark.length, "0"))),
    ),
  );
  let checkinId = "";
  for (let index = 0; index < readableCheckins; index += 1) {
    checkinId = await checkIn(port, reader, `A place worth coming back to, number ${index}`);
  }
  await checkIn(port, writer, commentOf("0000000000"));
  for (let index = 0; index < readableKeys; index += 1) {
    await putMetadata(port, reader, `key-${index}`, { theme: "dark", level: index, tags: ["a", "b"] });
  }
  await call(port, "POST", "/metrics/events/level-won", writer.token, {}); // the sample row for the ceiling
  const blobs = { port, path: "/blobs", token: reader.token };
  const blobId = await upload(blobs, randomFile(smallFileBytes), smallFileBytes);
  return { engine, deployment, server, credentials, deviceToken, reader, checkinId, blobId, writer };
}

/** The comment of a check-in under load. */
export function commentOf(number: string): string {
  return `Coffee with a view, visit ${number}`;
}
