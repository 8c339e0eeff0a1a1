#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import {
  deleteApplicationRows,
  insertApplication,
  listApplications,
  updateApplicationDeleted,
} from "./applications/applications.store.ts";
import { type Command, createMakers, print, table, UsageError, withDatabase } from "./cli.command.ts";
import { operatorCommands, recordCommand } from "./cli.operators.ts";
import { loadConfig } from "./config.ts";
import { explainFailure } from "./failure.ts";
import { kindOfId } from "./lib/ids.ts";
import { OperatorNameError } from "./operators/operators.names.ts";
import { serve } from "./serve.ts";
import { openByteStore } from "./storage/open.ts";
import {
  ApplicationSettingsError,
  parseApplicationSettings,
  retentionOf,
  updateApplicationSettings,
} from "./tenancy/application-settings.ts";

const usage = `Usage: rollcall <command>

  serve                                    serve until SIGTERM
  migrate                                  bring the database schema up to date
  apps create --name N [--json]            create an application; its key is shown this once
  apps list [--json]                       list the applications
  apps configure APPID FILE.json [--json]  set what the file says in place of all settings before
  apps delete APPID --yes                  delete an application and everything it owns
  operators create --name N [--role R] [--json]
                                           create an operator, a viewer if nothing else is said; its password is shown
                                           this once
  operators list [--json]                  list the operators
  operators role ID R                      make an operator a viewer, an editor or an owner
  operators password ID [--json]           a new password, shown this once; the operator's sessions end
  operators delete ID --yes                delete an operator; its sessions end at once
  audit [--app APPID] [--json]             list who did what, newest first

Settings come from the environment: see .env.example.
`;

const commands: Readonly<Record<string, Command>> = {
  serve: (config) => serve(config),

  migrate: (config) =>
    withDatabase(config, async (_database, applied) => {
      print(applied.length === 0 ? "The schema is up to date." : applied.map((name) => `applied ${name}`).join("\n"));
    }),

  "apps create": (config, { name, json = false }) =>
    withDatabase(config, async (database) => {
      if (name === undefined || name.trim() === "") throw new UsageError("apps create needs --name");
      const created = await database.write(async ({ queries }) => {
        const application = await insertApplication(name.trim(), createMakers(), queries);
        const { appid } = application;
        await recordCommand({ action: "createApplication", applicationId: appid, target: appid }, queries);
        return application;
      });
      print(json ? JSON.stringify(created) : `appid   ${created.appid}\nappkey  ${created.appkey}`);
    }),

  "apps list": (config, { json = false }) =>
    withDatabase(config, async (database) => {
      const applications = await listApplications(database.reads);
      const rows = applications.map(({ appid, name, createdAt, isBeingDeleted }) => ({
        appid,
        name,
        created: new Date(createdAt).toISOString(),
        state: isBeingDeleted ? "being deleted" : "active",
      }));
      print(json ? JSON.stringify(rows) : table(["appid", "name", "created", "state"], rows));
    }),

  "apps configure": (config, { json = false }, [appid, file]) =>
    withDatabase(config, async (database) => {
      if (appid === undefined || kindOfId(appid) !== "App") throw new UsageError("apps configure needs an APPID");
      if (file === undefined) throw new UsageError("apps configure needs a FILE.json");
      const settings = parseApplicationSettings(readFileSync(file, "utf8"));
      await database.write(async ({ queries }) => {
        const isThere = await updateApplicationSettings(appid, settings, queries);
        if (!isThere) throw new UsageError(`there is no application ${appid}`);
        await recordCommand({ action: "configureApplication", applicationId: appid, target: appid }, queries);
      });
      const providers = Object.keys(settings.oidc);
      const { metricsDays, crashReportsDays } = retentionOf(settings);
      const kept = `metrics ${metricsDays} days, crash reports ${crashReportsDays} days`;
      const lines = [`configured ${appid}`, `oidc  ${providers.join(", ") || "none"}`, `kept  ${kept}`];
      print(json ? JSON.stringify(settings) : lines.join("\n"));
    }),

  "apps delete": (config, { yes = false }, [appid]) =>
    withDatabase(config, async (database) => {
      if (appid === undefined || kindOfId(appid) !== "App") throw new UsageError("apps delete needs an APPID");
      if (!yes) throw new UsageError("apps delete erases everything the application owns: confirm with --yes");
      await database.write(async ({ queries }) => {
        const isThere = await updateApplicationDeleted(appid, createMakers().clock.now(), queries);
        if (!isThere) throw new UsageError(`there is no application ${appid}`);
        await recordCommand({ action: "deleteApplication", applicationId: appid, target: appid }, queries);
      });
      const bytes = await openByteStore(config);
      await deleteApplicationRows(appid, { database, bytes }, { onStep: showProgress });
      print(`deleted ${appid}`);
    }),

  ...operatorCommands,
};

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      name: { type: "string" },
      role: { type: "string" },
      app: { type: "string" },
      json: { type: "boolean" },
      yes: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  const [noun = "", verb = ""] = positionals;
  const name = [noun, `${noun} ${verb}`].find((each) => Object.hasOwn(commands, each));
  const command = name === undefined ? undefined : commands[name];
  if (values.help || command === undefined) {
    (values.help ? process.stdout : process.stderr).write(usage);
    process.exitCode = values.help ? 0 : 2;
  } else {
    await command(loadConfig(process.env), values, positionals.slice(2));
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

function showProgress(rowsErased: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${rowsErased} rows erased `);
}
