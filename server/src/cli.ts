#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { applicationCommands } from "./cli.applications.ts";
import { archiveCommands } from "./cli.archives.ts";
import { type Command, print, UsageError, withDatabase } from "./cli.command.ts";
import { healthCommands } from "./cli.health.ts";
import { operatorCommands, recordCommand } from "./cli.operators.ts";
import { regionCommands } from "./cli.regions.ts";
import { userCommands } from "./cli.users.ts";
import { loadConfig } from "./config.ts";
import { explainFailure } from "./failure.ts";
import { kindOfId } from "./lib/ids.ts";
import { OperatorNameError } from "./operators/operators.names.ts";
import { start } from "./start.ts";
import { ApplicationSettingsError, parseApplicationSettings, retentionOf } from "./tenancy/application-settings.ts";
import { changeApplicationSettings, shownSettings } from "./tenancy/settings-changes.ts";

const usage = `Usage: rollcall <command>

  serve                                    serve until SIGTERM
  health                                   ask the server that runs here whether it is ready; exit code 1 when it is not
  migrate                                  bring the database schema up to date
  backup FILE [--without-files] [--json]   write all there is to a new file, while it is served
  verify-backup FILE [--json]              read a backup or an export to its end: whether every bit is as it was written
  restore FILE [--force] [--other-secret]  make an empty deployment what the backup is; --force deletes what there is
  apps create --name N [--region R] [--json]
                                           create an application, perhaps in another region; its key is shown this once
  apps list [--json]                       list the applications
  apps configure APPID FILE.json [--json]  set what the file says in place of all settings before
  apps rename APPID --name N               give an application another name
  apps suspend APPID                       refuse everything that its clients ask for
  apps resume APPID                        serve it again
  apps move APPID --region R [--force]     move an application of this region to another one; again finishes what broke off;
                                           --force moves it without files that are lost
  apps move APPID --cancel                 give up a move that broke off
  apps locate APPID --region R             tell the main region of an application that came to be in another one by itself
  apps delete APPID --yes                  delete an application and everything it owns
  apps export APPID FILE [--json]          write an application with its files to a new file, while it is served
  apps import FILE [--name N] [--json]     take in an exported application, beside the others
  apps revoke-tokens APPID --yes           end every token of an application; its keys stay good
  apps compromised APPID --yes [--json]    end every token and key; the new key is shown this once
  apps keys list APPID [--json]            list its keys, and how many devices registered with each last
  apps keys create APPID [--label L] [--json]
                                           one more key, shown this once
  apps keys retire APPID KEYID [--yes]     nobody registers with it any more, and its tokens die; --yes for the last one
  apps keys revoke-tokens APPID KEYID --yes
                                           end every token below a key; it stays good
  apps secret set APPID [FILE] [--json]    a shared secret for signed requests, made or read from a file; shown this once
  apps secret delete APPID --yes           take it away
  operators create --name N [--role R] [--json]
                                           create an operator, a viewer if nothing else is said; its password is shown
                                           this once
  operators list [--json]                  list the operators
  operators role ID R                      make an operator a viewer, an editor or an owner
  operators password ID [--json]           a new password, shown this once; the operator's sessions end
  operators delete ID --yes                delete an operator; its sessions end at once
  users disable APPID USERID               keep a user from signing in, and from using the tokens that there are
  users enable APPID USERID                let a user in again
  users revoke APPID USERID                end all tokens of a user
  users erase APPID USERID --yes           delete a user and everything the user owns
  users export APPID USERID FILE.zip       write everything that there is of a user to a file
  audit [--app APPID] [--json]             list who did what, newest first

Settings come from the environment: see .env.example.
`;

const commands: Readonly<Record<string, Command>> = {
  serve: (config) => start(config),

  migrate: (config) =>
    withDatabase(config, async (_database, applied) => {
      print(applied.length === 0 ? "The schema is up to date." : applied.map((name) => `applied ${name}`).join("\n"));
    }),

  "apps configure": (config, { json = false }, [appid, file]) =>
    withDatabase(config, async (database) => {
      if (appid === undefined || kindOfId(appid) !== "App") throw new UsageError("apps configure needs an APPID");
      if (file === undefined) throw new UsageError("apps configure needs a FILE.json");
      const given = parseApplicationSettings(readFileSync(file, "utf8"));
      const settings = await database.write(async ({ queries }) => {
        const changed = await changeApplicationSettings(appid, () => given, database.dialect, queries);
        if (changed === undefined) throw new UsageError(`there is no application ${appid}`);
        await recordCommand({ action: "configureApplication", applicationId: appid, target: appid }, queries);
        return changed;
      });
      const providers = Object.keys(settings.oidc);
      const { metricsDays, crashReportsDays } = retentionOf(settings);
      const kept = `metrics ${metricsDays} days, crash reports ${crashReportsDays} days`;
      const lines = [`configured ${appid}`, `oidc  ${providers.join(", ") || "none"}`, `kept  ${kept}`];
      print(json ? JSON.stringify(shownSettings(settings)) : lines.join("\n"));
    }),

  ...healthCommands,
  ...applicationCommands,
  ...archiveCommands,
  ...regionCommands,
  ...operatorCommands,
  ...userCommands,
};

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      name: { type: "string" },
      role: { type: "string" },
      app: { type: "string" },
      label: { type: "string" },
      region: { type: "string" },
      cancel: { type: "boolean" },
      json: { type: "boolean" },
      yes: { type: "boolean" },
      force: { type: "boolean" },
      "other-secret": { type: "boolean" },
      "without-files": { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  const name = [1, 2, 3]
    .map((words) => positionals.slice(0, words).join(" "))
    .find((each) => Object.hasOwn(commands, each));
  const command = name === undefined ? undefined : commands[name];
  if (values.help || command === undefined) {
    (values.help ? process.stdout : process.stderr).write(usage);
    process.exitCode = values.help ? 0 : 2;
  } else {
    await command(loadConfig(process.env), values, positionals.slice(name?.split(" ").length));
  }
} catch (error) {
  // parseArgs throws a TypeError for an option that there is not.
  const isMisuse =
    error instanceof UsageError ||
    error instanceof OperatorNameError ||
    (error instanceof TypeError && "code" in error);
  const isWrongFile = error instanceof ApplicationSettingsError;
  if (isMisuse) console.error(`${error.message}\n\n${usage}`);
  else console.error(isWrongFile ? error.message : explainFailure(error));
  process.exitCode = isMisuse || isWrongFile ? 2 : 1;
}
