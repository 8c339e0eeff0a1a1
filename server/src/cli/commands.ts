import type { Command } from "./command.ts";

type Commands<Name extends string = string> = Readonly<Record<Name, Command>>;

/** All commands, by name. A command loads its module when it runs, so that it does not wait for those of the others. */
export const commands: Commands = {
  async serve(config, { json = false, throwaway = false, resume }) {
    const { start } = await import("../app/start.ts");
    await start(config, { isJson: json, isThrowaway: throwaway, isResumed: resume !== undefined });
    return undefined;
  },

  ...from(() => import("./doctor.ts"), ["doctor"]),
  ...from(() => import("./health.ts"), ["health"]),
  ...from(() => import("./migrate.ts"), ["migrate"]),
  ...from(() => import("./distribute.ts"), ["distribute"]),
  ...from(() => import("./accept.ts"), ["accept"]),

  ...from(() => import("./archives.ts"), ["backup", "verify-backup", "restore", "apps export", "apps import"]),

  ...from(
    () => import("./regions.ts"),
    ["apps create", "apps list", "apps delete", "apps move", "apps locate", "regions key"],
  ),

  ...from(
    () => import("./applications.ts"),
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
    () => import("./operators.ts"),
    ["operators create", "operators list", "operators role", "operators password", "operators delete", "audit"],
  ),

  ...from(() => import("./users.ts"), ["users disable", "users enable", "users revoke", "users erase", "users export"]),

  ...from(() => import("./devices.ts"), ["devices revoke"]),
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
