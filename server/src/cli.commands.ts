import type { Command } from "./cli.command.ts";

type Commands<Name extends string = string> = Readonly<Record<Name, Command>>;

/** All commands, by name. The module of a command is loaded when it runs, because loading all takes half a second. */
export const commands: Commands = {
  async serve(config, { json = false }) {
    const { start } = await import("./start.ts");
    await start(config, { isJson: json });
    return undefined;
  },

  ...from(async () => (await import("./cli.doctor.ts")).doctorCommands, ["doctor"]),
  ...from(async () => (await import("./cli.health.ts")).healthCommands, ["health"]),
  ...from(async () => (await import("./cli.migrate.ts")).migrateCommands, ["migrate"]),

  ...from(
    async () => (await import("./cli.archives.ts")).archiveCommands,
    ["backup", "verify-backup", "restore", "apps export", "apps import"],
  ),

  ...from(
    async () => (await import("./cli.regions.ts")).regionCommands,
    ["apps create", "apps list", "apps delete", "apps move", "apps locate", "regions key"],
  ),

  ...from(
    async () => (await import("./cli.applications.ts")).applicationCommands,
    [
      "apps configure",
      "apps rename",
      "apps suspend",
      "apps resume",
      "apps revoke-tokens",
      "apps compromised",
      "apps keys list",
      "apps keys create",
      "apps keys retire",
      "apps keys revoke-tokens",
      "apps secret set",
      "apps secret delete",
    ],
  ),

  ...from(
    async () => (await import("./cli.operators.ts")).operatorCommands,
    ["operators create", "operators list", "operators role", "operators password", "operators delete", "audit"],
  ),

  ...from(
    async () => (await import("./cli.users.ts")).userCommands,
    ["users disable", "users enable", "users revoke", "users erase", "users export"],
  ),
};

/** Some of the commands of a module; the compiler checks that it has them. */
function from<Name extends string>(load: () => Promise<Commands<Name>>, names: readonly Name[]): Commands {
  const run =
    (name: Name): Command =>
    async (...given) =>
      (await load())[name](...given);
  return Object.fromEntries(names.map((name) => [name, run(name)]));
}
