import type { Config } from "../config/config.ts";
import { PlainFailure } from "../config/failure.ts";
import { requireKnownSecret } from "../config/server-secret.ts";
import type { Database, Queries } from "../db/database.ts";
import { findFact, putFact } from "../db/deployment-facts.ts";
import { lockName } from "../db/lock.ts";
import type { OwnSecrets } from "../lib/secret-ring.ts";
import { saveReport } from "./deployment.processes.store.ts";
import type { OwnReports } from "./own-reports.ts";

/** The lock that serializes transactions which compare processes and change a fact. */
export const deploymentLock = "deployment";

interface Joining {
  readonly config: Pick<Config, "region" | "secrets" | "dataDir">;
  readonly database: Database;
  readonly secrets: OwnSecrets;
  readonly ownReports: OwnReports;
}

/**
 * Adds this process to its deployment (spec/deployment#processes-that-fit). From here on no other process seals with a
 * secret that this one cannot open. The first process of a deployment records its secret and region.
 *
 * @throws PlainFailure if the deployment has another secret or region
 */
export async function joinDeployment(services: Joining): Promise<void> {
  const { config, database, secrets, ownReports } = services;
  await ownReports.measureClock();
  const own = await ownReports.take();
  await database.write(async ({ queries }) => {
    await lockName(database.dialect, deploymentLock, queries);
    const { region, secret } = await requireFitting(services, queries);
    if (region === undefined) await putFact("region", config.region, queries);
    if (secret === undefined) await putFact("secret", secrets.fingerprints[0], queries);
    await saveReport(own, queries);
  });
}

/**
 * Compares a process with the recorded facts of its deployment, and selects the sealing secret of the deployment.
 *
 * @returns the recorded facts
 * @throws PlainFailure if the deployment has another secret or region
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

/** @throws PlainFailure if another region is recorded */
function requireRegion(own: string, recorded: string | undefined): void {
  if (recorded === undefined || recorded === own) return;
  throw new PlainFailure(
    `REGION is ${own}, but the database is that of the region ${recorded}. Set REGION=${recorded}, or DATABASE_URL to another database. To rename the region nevertheless: \`rollcall accept --new-region\`. Then all tokens end: devices must register again, users and operators must sign in again.`,
  );
}
