import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestDatabase } from "./databases.ts";

/** What the processes of one deployment share: a folder, an empty database, and a secret. */
export interface TestDeployment {
  readonly folder: string;
  readonly settings: Readonly<Record<"DATA_DIR" | "DATABASE_URL" | "ROLLCALL_SECRET", string>>;
  remove(): Promise<void>;
}

export async function createTestDeployment(): Promise<TestDeployment> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  const { url, drop } = await createTestDatabase(folder);
  return {
    folder,
    settings: { DATA_DIR: folder, DATABASE_URL: url, ROLLCALL_SECRET: "a secret for tests" },
    async remove() {
      await drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
