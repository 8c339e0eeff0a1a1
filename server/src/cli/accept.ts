import { loadSecrets } from "../config/server-secret.ts";
import { type FactName, putFact } from "../db/deployment-facts.ts";
import { lockName } from "../db/lock.ts";
import { deploymentLock } from "../deployment/joining.ts";
import { createSecretRing } from "../lib/secret-ring.ts";
import { type Command, createClockAndIds, recordCommand, UsageError, withDatabase } from "./command.ts";

export const commands = {
  /** Records settings that a start would refuse, and a clock that maintenance would refuse. */
  accept: (config, { "new-secret": isNewSecret = false, "new-region": isNewRegion = false, clock: isClock = false }) =>
    withDatabase(config, async (database) => {
      const accepted: { readonly fact: FactName; readonly value: string; readonly text: string }[] = [];
      if (isNewSecret) {
        const [value] = createSecretRing(loadSecrets(config)).fingerprints;
        accepted.push({ fact: "secret", value, text: "the secret of these settings is that of the deployment" });
      }
      if (isNewRegion)
        accepted.push({
          fact: "region",
          value: config.region,
          text: `the region of the deployment is ${config.region}`,
        });
      if (isClock) {
        const now = createClockAndIds().clock.now();
        const text = `the clock is right (${new Date(now).toISOString()}), and maintenance continues`;
        accepted.push({ fact: "maintenance", value: `${now}`, text });
      }
      if (accepted.length === 0) throw new UsageError("accept needs --new-secret, --new-region or --clock");
      await database.write(async ({ queries }) => {
        await lockName(database.dialect, deploymentLock, queries);
        for (const { fact, value } of accepted) await putFact(fact, value, queries);
        const details = Object.fromEntries(accepted.map(({ fact }) => [fact, true]));
        await recordCommand({ action: "acceptSettings", details }, queries);
      });
      const facts = accepted.map(({ fact }) => fact);
      return { json: { accepted: facts }, text: accepted.map(({ text }) => text).join("\n") };
    }),
} satisfies Readonly<Record<string, Command>>;
