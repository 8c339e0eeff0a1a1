import type { Command } from "./cli.command.ts";

type Commands<Name extends string = string> = Readonly<Record<Name, Command>>;

/** All commands, by name. A command loads its module when it runs, so that it does not wait for those of the others. */
export const commands: Commands = {
  async serve(config, { json = false, throwaway = false, resume }) {
    const { start } = await import("./start.ts");
    await start(config, { isJson: json, isThrowaway: throwaway, isResumed: resume !== undefined });
    return undefined;
  },

  ...from(() => import("./cli.doctor.ts"), ["doctor"]),
  ...from(() => import("./cli.health.ts"), ["health"]),
  ...from(() => import("./cli.migrate.ts"), ["migrate"]),
  ...from(() => import("./cli.distribute.ts"), ["distribute"]),
  ...from(() => import("./cli.accept.ts"), ["accept"]),

  ...from(() => import("./cli.archives.ts"), ["backup", "verify-backup", "restore", "apps export", "apps import"]),

  ...from(
    () => import("./cli.regions.ts"),
    ["apps create", "apps list", "apps delete", "apps move", "apps locate", "regions key"],
  ),

  ...from(
    () => import("./cli.applications.ts"),
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
    () => import("./cli.operators.ts"),
    ["operators create", "operators list", "operators role", "operators password", "operators delete", "audit"],
  ),

  ...from(
    () => import("./cli.users.ts"),
    ["users disable", "users enable", "users revoke", "users erase", "users export"],
  ),

  ...from(() => import("./cli.devices.ts"), ["devices revoke"]),
};

/** Some of the commands of a module; the compiler checks that it has them. */
function from<Name extends string>(
  load: () => Promise<{ readonly commands: Commands<Name> }>,
  names: readonly Name[],
): Commands {
  const run =
    (name: Name): Command =>
    async (...given) =>
      (await load()).commands[name](...given);
  return Object.fromEntries(names.map((name) => [name, run(name)]));
}
