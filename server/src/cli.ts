#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import {
  deleteApplicationRows,
  insertApplication,
  listApplications,
  updateApplicationDeleted,
} from "./applications/applications.store.ts";
import { type Command, print, table, UsageError, withDatabase } from "./cli.command.ts";
import { userCommands } from "./cli.users.ts";
import { loadConfig } from "./config.ts";
import { explainFailure } from "./failure.ts";
import { createClock } from "./lib/clock.ts";
import { createIdGenerator, kindOfId } from "./lib/ids.ts";
import { OperatorNameError, readOperatorName } from "./operators/operators.names.ts";
import { deleteOperator, insertOperator, listOperators } from "./operators/operators.store.ts";
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
  operators create --name N [--json]       create an operator; its token is shown this once
  operators list [--json]                  list the operators
  operators delete ID --yes                delete an operator; its tokens die at once
  users disable APPID USERID               keep a user from signing in, and from using the tokens that there are
  users enable APPID USERID                let a user in again
  users revoke APPID USERID                end all tokens of a user
  users erase APPID USERID --yes           delete a user and everything the user owns
  users export APPID USERID FILE.zip       write everything that there is of a user to a file

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
      const clock = createClock();
      const ids = createIdGenerator(() => clock.now());
      const created = await database.write(({ queries }) => insertApplication(name.trim(), { clock, ids }, queries));
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
      const isThere = await database.write(({ queries }) => updateApplicationSettings(appid, settings, queries));
      if (!isThere) throw new UsageError(`there is no application ${appid}`);
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
      const isThere = await database.write(({ queries }) =>
        updateApplicationDeleted(appid, createClock().now(), queries),
      );
      if (!isThere) throw new UsageError(`there is no application ${appid}`);
      const bytes = await openByteStore(config);
      await deleteApplicationRows(appid, { database, bytes }, { onStep: showProgress });
      print(`deleted ${appid}`);
    }),

  "operators create": (config, { name, json = false }) =>
    withDatabase(config, async (database) => {
      if (name === undefined) throw new UsageError("operators create needs --name");
      const operatorName = readOperatorName(name);
      const clock = createClock();
      const ids = createIdGenerator(() => clock.now());
      const created = await database.write(({ queries }) => insertOperator(operatorName, { clock, ids }, queries));
      if (created === undefined) throw new UsageError(`there is an operator named ${operatorName} already`);
      print(json ? JSON.stringify(created) : `id     ${created.id}\nname   ${created.name}\ntoken  ${created.token}`);
    }),

  "operators list": (config, { json = false }) =>
    withDatabase(config, async (database) => {
      const operators = await listOperators(database.reads);
      const rows = operators.map(({ id, name, created_at }) => ({
        id,
        name,
        created: new Date(created_at).toISOString(),
      }));
      print(json ? JSON.stringify(rows) : table(["id", "name", "created"], rows));
    }),

  "operators delete": (config, { yes = false }, [id]) =>
    withDatabase(config, async (database) => {
      if (id === undefined || kindOfId(id) !== "Operator") throw new UsageError("operators delete needs an ID");
      if (!yes) throw new UsageError("operators delete ends the operator's tokens at once: confirm with --yes");
      const isThere = await database.write(({ queries }) => deleteOperator(id, queries));
      if (!isThere) throw new UsageError(`there is no operator ${id}`);
      print(`deleted ${id}`);
    }),

  ...userCommands,
};

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      name: { type: "string" },
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
