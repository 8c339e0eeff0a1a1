import type { Config } from "../config/config.ts";
import { PlainFailure } from "../config/failure.ts";
import { requireKnownSecret } from "../config/server-secret.ts";
import type { Database, Queries } from "../db/database.ts";
import { findFact, putFact } from "../db/deployment-facts.ts";
import type { OwnSecrets } from "../lib/secret-ring.ts";
import { saveReport } from "./deployment.processes.store.ts";
import type { OwnReports } from "./own-reports.ts";

/** Transactions that compare processes and change a fact go one at a time, by this text. */
export const turnOfDeployment = "deployment";

interface Joining {
  readonly config: Pick<Config, "region" | "secrets" | "dataDir">;
  readonly database: Database;
  readonly secrets: OwnSecrets;
  readonly ownReports: OwnReports;
}

/**
 * Adds this process to those of its deployment (spec/deployment#processes-that-fit). From then on no other process seals
 * with a secret that this one cannot open. The first process of a deployment records its secret and its region.
 *
 * @throws PlainFailure if its secret or its region is not that of the deployment
 */
export async function joinDeployment(services: Joining): Promise<void> {
  const { config, database, secrets, ownReports } = services;
  await ownReports.measureClock();
  const own = await ownReports.take();
  await database.write(async ({ queries }) => {
    for (const statement of database.dialect.takeTurns(turnOfDeployment)) await statement.execute(queries);
    const { region, secret } = await requireFitting(services, queries);
    if (region === undefined) await putFact("region", config.region, queries);
    if (secret === undefined) await putFact("secret", secrets.fingerprints[0], queries);
    await saveReport(own, queries);
  });
}

/**
 * Compares a process with what its deployment has recorded, and seals as the deployment does.
 *
 * @returns the recorded facts
 * @throws PlainFailure if its secret or its region is not that of the deployment
 */
export async function requireFitting(
  { config, secrets }: Pick<Joining, "config" | "secrets">,
  queries: Queries,
): Promise<{ readonly region: string | undefined; readonly secret: string | undefined }> {
  const region = await findFact("region", queries);
  const secret = await findFact("secret", queries);
  requireRegion(config.region, region);
  requireKnownSecret(secret, secrets, config);
  return { region, secret };
}

/** @throws PlainFailure if the recorded region is another one */
function requireRegion(own: string, recorded: string | undefined): void {
  if (recorded === undefined || recorded === own) return;
  throw new PlainFailure(
    `REGION is ${own}, but the database is that of the region ${recorded}. Set REGION=${recorded}, or DATABASE_URL to another database. To rename the region nevertheless: \`rollcall accept --new-region\`. Then all tokens end: devices must register again, users and operators must sign in again.`,
  );
}
