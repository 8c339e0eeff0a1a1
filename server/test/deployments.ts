import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { insertApplication, type NewApplication } from "../src/applications/applications.store.ts";
import { createClockAndIds } from "../src/cli/command.ts";
import { openDatabase } from "../src/db/open.ts";
import { copyTestDatabase, createTestDatabase } from "./databases.ts";
import { send } from "./harness.ts";

/** Creates the shared resources of a deployment's processes: a folder, an empty database, and a secret. */
export interface TestDeployment {
  readonly folder: string;
  readonly settings: Readonly<Record<"DATA_DIR" | "DATABASE_URL" | "ROLLCALL_SECRET", string>>;
  remove(): Promise<void>;
}

/** @param isMigrated whether the database has its tables */
export async function createTestDeployment({ isMigrated = true } = {}): Promise<TestDeployment> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  const { url, drop } = await (isMigrated ? copyTestDatabase : createTestDatabase)(folder);
  return {
    folder,
    settings: { DATA_DIR: folder, DATABASE_URL: url, ROLLCALL_SECRET: "a secret for tests" },
    async remove() {
      await drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Creates an application in the database of a deployment, as `apps create` does. */
export async function createTestApplication({
  DATABASE_URL,
}: Pick<TestDeployment["settings"], "DATABASE_URL">): Promise<NewApplication> {
  const database = await openDatabase(DATABASE_URL, { connectionsMax: 2, timeoutMs: 60_000 });
  const created = await database.write(({ queries }) => insertApplication("Test", createClockAndIds(), queries));
  await database.close();
  return created;
}

/** Registers a device with a server, and signs up a user. */
export async function signUpAt(
  port: number,
  application: NewApplication,
): Promise<{ readonly deviceToken: string; readonly token: string }> {
  const device = await send(port, "POST", "/devices", { body: { ...application, platform: "test" } });
  const deviceToken: string = device.body.result.accessToken;
  const body = { username: "user", password: "password" };
  const user = await send(port, "POST", "/users", { token: deviceToken, body });
  return { deviceToken, token: user.body.result.accessToken };
}
