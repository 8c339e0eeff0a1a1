import { type RawBuilder, sql } from "kysely";
import { lastWith, lowerText, type Parameter } from "./conditions.ts";

/** A part of an index of the names of users. */
interface NameRange {
  /** The column by which the index begins. */
  readonly lead: "first_name" | "last_name";
  /** The complete name in this column; absent if the prefix applies to it. */
  readonly exact?: string;
  /** The prefix of the other name, or of the name in the column itself. */
  readonly prefix: string;
}

/** More words than a name has; only the first ones are split into a first and a last name. */
const splitsMax = 3;

/**
 * Returns the index ranges with the users whose first or last name begins with the string, or whose two names do, in
 * either order: "hopper", "grace hop", "Hopper, Grace". At most 32 ranges.
 */
export function nameRangesOf(text: string): readonly NameRange[] {
  const words = text.split(/[\s,]+/u).filter((word) => word !== "");
  if (words.length === 0) return [];
  const splits = words
    .slice(0, -1)
    .slice(0, splitsMax)
    .map((_, index) => [words.slice(0, index + 1).join(" "), words.slice(index + 1).join(" ")]);
  const leads = ["first_name", "last_name"] as const;
  return casesOf(words).flatMap((inCase) =>
    leads.flatMap((lead) => [
      { lead, prefix: inCase(words.join(" ")) },
      ...splits.map(([exact = "", prefix = ""]) => ({ lead, exact: inCase(exact), prefix: inCase(prefix) })),
    ]),
  );
}

/** The database ignores case only for A to Z, so names in other letters are looked up in each usual case. */
function casesOf(words: readonly string[]): readonly ((text: string) => string)[] {
  const cases = [
    (text: string) => lowerText(text),
    (text: string) => lowerText(text.toLowerCase()),
    (text: string) => lowerText(text.toUpperCase()),
    (text: string) => lowerText(text.toLowerCase().replaceAll(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase())),
  ];
  const exact = words.join(" ");
  return cases.filter((each, index) => cases.findIndex((other) => other(exact) === each(exact)) === index);
}

/** The condition of a range: an index of the migration 0061 answers it, for each of the applications. */
export function nameRangeSql({ lead, exact, prefix }: NameRange, value: (name: string, text: string) => unknown) {
  const ranged = nameKeySql(exact === undefined ? lead : otherThan(lead));
  const range = sql`${ranged} >= ${value("from", prefix)} and ${ranged} <= ${value("to", lastWith(prefix, nameKeyCharacters))}`;
  const isExact = exact === undefined ? sql`` : sql`${nameKeySql(lead)} = ${value("exact", exact)} and`;
  return sql`${sql.ref(lead)} is not null and deleted_at is null and ${isExact} ${range}`;
}

function otherThan(lead: NameRange["lead"]): NameRange["lead"] {
  return lead === "first_name" ? "last_name" : "first_name";
}

/** Written as the indexes are. */
function nameKeySql(column: NameRange["lead"]): RawBuilder<unknown> {
  return sql`lower(substr(${sql.ref(column)}, 1, ${sql.lit(nameKeyCharacters)}))`;
}

/** Index entries have a bounded size. */
const nameKeyCharacters = 128;

interface UsersByName {
  readonly applicationId: string;
  readonly ranges: readonly NameRange[];
  readonly columns: RawBuilder<unknown>;
  /** Of each range. */
  readonly count: number;
}

/** A statement that returns the users in these ranges, some of them repeatedly, and the values of its parameters. */
export function usersByName({ applicationId, ranges, columns, count }: UsersByName) {
  const values: Record<string, string> = { nameApplication: applicationId };
  const keys = ranges.map((range, index) => {
    const key = (name: string) => `name ${index} ${name}`;
    values[key("from")] = range.prefix;
    values[key("to")] = lastWith(range.prefix, nameKeyCharacters);
    if (range.exact !== undefined) values[key("exact")] = range.exact;
    return key;
  });
  const rows = (parameter: Parameter) => {
    const selects = ranges.map((range, index) => {
      const condition = nameRangeSql(range, (name) => parameter(keys[index]?.(name) ?? ""));
      // An engine does not detect that an expression has one value.
      const order = range.exact === undefined ? [range.lead, otherThan(range.lead)] : [otherThan(range.lead)];
      return sql`select ${columns} from (
        select * from users where application_id = ${parameter("nameApplication")} and ${condition}
        order by ${sql.join(order.map(nameKeySql))}, id limit ${sql.lit(count)}) as ${sql.ref(`range_${index}`)}`;
    });
    return sql.join(selects, sql` union all `);
  };
  const shape = ranges.map(({ lead, exact }) => `${lead}${exact === undefined ? "" : "="}`).join(",");
  return { rows, values, shape };
}
