import { readFileSync } from "node:fs";
import { applicationCommands } from "./cli.applications.ts";
import { archiveCommands } from "./cli.archives.ts";
import { type Command, UsageError, withDatabase } from "./cli.command.ts";
import { doctorCommands } from "./cli.doctor.ts";
import { healthCommands } from "./cli.health.ts";
import { migrateCommands } from "./cli.migrate.ts";
import { operatorCommands, recordCommand } from "./cli.operators.ts";
import { regionCommands } from "./cli.regions.ts";
import { userCommands } from "./cli.users.ts";
import { kindOfId } from "./lib/ids.ts";
import { loadSecrets } from "./server-secret.ts";
import { start } from "./start.ts";
import { parseApplicationSettings, retentionOf } from "./tenancy/application-settings.ts";
import { createSettingsSealer } from "./tenancy/sealed-settings.ts";
import { changeApplicationSettings, shownSettings } from "./tenancy/settings-changes.ts";

/** All commands, by name. */
export const commands: Readonly<Record<string, Command>> = {
  async serve(config, { json = false }) {
    await start(config, { isJson: json });
    return undefined;
  },

  "apps configure": (config, _values, [appid, file]) =>
    withDatabase(config, async (database) => {
      if (appid === undefined || kindOfId(appid) !== "App") throw new UsageError("apps configure needs an APPID");
      if (file === undefined) throw new UsageError("apps configure needs a FILE.json");
      const given = parseApplicationSettings(readFileSync(file, "utf8"));
      const settings = await database.write(async ({ queries }) => {
        const changed = await changeApplicationSettings(
          appid,
          () => given,
          { mayReachInternal: true }, // shell access implies access to the network of this machine
          { dialect: database.dialect, sealer: createSettingsSealer(loadSecrets(config)) },
          queries,
        );
        if (changed === undefined) throw new UsageError(`there is no application ${appid}`);
        await recordCommand({ action: "configureApplication", applicationId: appid, target: appid }, queries);
        return changed;
      });
      const providers = Object.keys(settings.oidc);
      const { metricsDays, crashReportsDays } = retentionOf(settings);
      const kept = `metrics ${metricsDays} days, crash reports ${crashReportsDays} days`;
      const lines = [`configured ${appid}`, `oidc  ${providers.join(", ") || "none"}`, `kept  ${kept}`];
      return { json: shownSettings(settings), text: lines.join("\n") };
    }),

  ...migrateCommands,
  ...doctorCommands,
  ...healthCommands,
  ...applicationCommands,
  ...archiveCommands,
  ...regionCommands,
  ...operatorCommands,
  ...userCommands,
};
