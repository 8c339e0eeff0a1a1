import { type Command, openForCommand } from "./cli.command.ts";
import { migrate } from "./db/migrate.ts";

export const commands = {
  async migrate(config, _values, _rest, { progress }) {
    const database = await openForCommand(config);
    try {
      const applied = await migrate(database, undefined, {
        onMigration: (name, done, total) => progress.report({ name: "migrations", done, total, detail: name }),
      });
      const lines = applied.map((name) => `applied ${name}`);
      return { json: { applied }, text: applied.length === 0 ? "The schema is up to date." : lines.join("\n") };
    } finally {
      await database.close();
    }
  },
} satisfies Readonly<Record<string, Command>>;
