import { migrate } from "../db/migrate.ts";
import { type Command, openForCommand } from "./command.ts";

export const commands = {
  async migrate(config, _values, _rest, { progress }) {
    const database = await openForCommand(config);
    try {
      let before: string | undefined;
      const startedAt = performance.now();
      const applied = await migrate(database, undefined, {
        admit: async (names) => {
          before = [...names].sort().at(-1);
        },
        onMigration: (name, done, total) => progress.report({ name: "migrations", done, total, detail: name }),
      });
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      const summary = `migrated from ${before ?? "an empty database"} to ${applied.at(-1)} in ${seconds} s`;
      const lines = [...applied.map((name) => `applied ${name}`), summary];
      return { json: { applied }, text: applied.length === 0 ? "The schema is up to date." : lines.join("\n") };
    } finally {
      await database.close();
    }
  },
} satisfies Readonly<Record<string, Command>>;
