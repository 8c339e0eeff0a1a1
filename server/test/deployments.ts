import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyTestDatabase, createTestDatabase } from "./databases.ts";

/** What the processes of one deployment share: a folder, a database without data, and a secret. */
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
