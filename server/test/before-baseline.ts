import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import postgres from "postgres";

/** Facts about the deployment in the fixtures, which has the secret of `startTestApp`. */
export interface EarlierDeployment {
  readonly tables: readonly string[];
  readonly appid: string;
  readonly appkey: string;
  readonly user: {
    readonly name: string;
    readonly password: string;
    readonly token: string;
    readonly deviceToken: string;
  };
  readonly checkinId: string;
  readonly operator: { readonly name: string; readonly password: string; readonly token: string };
}

/**
 * Loads a deployment into an empty database: tables, indexes, recorded migrations and rows of commit 2202da8f, the last one
 * before the baseline.
 */
export async function loadEarlierDeployment(url: string): Promise<EarlierDeployment> {
  const engine = url.startsWith("file:") ? "sqlite" : "postgres";
  const script = readFileSync(join(import.meta.dirname, `fixtures/before-baseline.${engine}.sql`), "utf8");
  if (engine === "sqlite") {
    const database = new DatabaseSync(fileURLToPath(url));
    database.exec(script);
    database.close();
  } else {
    const client = postgres(url, { max: 1 });
    await client.unsafe(script);
    await client.end();
  }
  const [, facts = ""] = /^-- (.*)$/m.exec(script) ?? [];
  const tables = [...script.matchAll(/^create table (\w+)/gim)].map(([, table]) => table);
  return { tables, ...JSON.parse(facts) }; // has the return type
}
