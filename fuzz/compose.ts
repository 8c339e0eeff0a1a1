import type { Parameter } from "./document.ts";
import { type Format, formatOf } from "./formats.ts";
import { hostileText, hostileValue } from "./hostile.ts";
import type { Random } from "./random.ts";
import { commonValue, recipes, type Setting } from "./recipes.ts";
import type { JsonSchema } from "./schema.ts";
import { oddCase, plausibleValue } from "./values.ts";

/** The hostility of a call: none, one of its values, or any number of them. */
export type Mood = "honest" | "pointed" | "wild";

/** The content of a call, before it is encoded. */
export interface Content {
  readonly method: string;
  /** Escaped. */
  readonly path: string;
  readonly query: readonly Named[];
  readonly body: readonly Named[];
  readonly headers: readonly Named[];
}

export type Named = readonly [name: string, value: unknown];

const formats = new WeakMap<JsonSchema, Format>();

/** @param known values that a preparation has made */
export function compose(setting: Setting, mood: Mood, known: Readonly<Record<string, unknown>> = {}): Content {
  const { operation, random } = setting;
  const recipe = { ...recipes[operation.id]?.(setting), ...known };
  const all = [operation.inPath, operation.inQuery, operation.inBody, operation.inHeaders].flat();
  const target = mood === "pointed" ? random.pick(all) : undefined;

  function valuesOf(parameters: readonly Parameter[], isOptional: boolean): Named[] {
    const values: Named[] = [];
    for (const parameter of parameters) {
      const { name, isRequired } = parameter;
      const isHostile = parameter === target || (mood === "wild" && random.chance(0.35));
      const isKnown = name in recipe;
      const isGiven =
        isRequired || isHostile || (isKnown && recipe[name] !== undefined) || (!isKnown && random.chance(0.3));
      if (isOptional && (!isGiven || (mood === "wild" && random.chance(0.1)))) continue;
      const value = isHostile ? hostileFor(parameter, setting) : isKnown ? recipe[name] : honestFor(parameter, setting);
      if (value !== undefined || !isOptional) values.push([name, value]);
    }
    return values;
  }

  const inPath = new Map(valuesOf(operation.inPath, false));
  const given = new Map([...inPath]);
  // A confirmation must repeat the id in the path.
  const confirmed = [...given].findLast(([, value]) => typeof value === "string")?.[1];
  const confirm = (values: Named[]) =>
    values.map(([name, value]): Named => (name === "confirm" && mood === "honest" ? [name, confirmed] : [name, value]));
  return {
    method: operation.method,
    path: operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => escapeSegment(inPath.get(name), mood, random)),
    query: noise(confirm(valuesOf(operation.inQuery, true)), mood, random),
    body: noise(confirm(valuesOf(operation.inBody, true)), mood, random),
    headers: [...valuesOf(operation.inHeaders, true), ...(operation.id === forConsole ? [consoleHeader] : [])],
  };
}

/** The operation that answers calls of the console only. */
const forConsole = "findOperatorSession";
const consoleHeader: Named = ["X-Rollcall-Console", "1"];

function honestFor(parameter: Parameter, setting: Setting): unknown {
  const common = commonValue(parameter.name, setting);
  return common ?? plausibleValue(formatFor(parameter), setting.ids, setting.random);
}

function hostileFor(parameter: Parameter, { world, random }: Setting): unknown {
  const format = formatFor(parameter);
  if (format.kind === "id" && random.chance(0.6)) {
    // Ids of other users, of other applications, and of other kinds.
    const bystander = random.pick(world.bystanders);
    const prefix = random.pick(format.prefixes) ?? "chk";
    const theirs = [...(bystander?.sealed.of(prefix) ?? []), bystander?.userId ?? "", bystander?.deviceId ?? ""];
    return random.pick(random.chance(0.8) ? theirs.filter((id) => id.startsWith(prefix)) : theirs);
  }
  if (parameter.name === "pagingToken" && random.chance(0.7)) {
    const token = random.pick(world.bystanders.flatMap(({ pageTokens }) => pageTokens)) ?? "";
    return random.pick([
      token,
      token.slice(0, -1),
      `${token}A`,
      token.toLowerCase(),
      "0;0",
      "1001;0",
      "1;-1",
      "999999999999999;1",
    ]);
  }
  return hostileValue(format, random);
}

function formatFor({ schema }: Parameter): Format {
  const format = formats.get(schema) ?? formatOf(schema);
  formats.set(schema, format);
  return format;
}

/** A path segment: escaped correctly, or hardly at all. */
function escapeSegment(value: unknown, mood: Mood, random: Random): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  if (mood === "wild" && random.chance(0.1)) return text.replaceAll(/[^\x21-\x7e]|[?#]/gu, (each) => encode(each));
  const escaped = encode(text);
  return mood !== "honest" && random.chance(0.1) ? escaped.replaceAll("%", "%25") : escaped;
}

export function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

const unknownNames = ["location2", "__proto__", "constructor", "id", "userID", "created", "isAdmin", "accessToken", ""];

/** Parameter names in odd case, twice, and unknown ones. */
function noise(values: Named[], mood: Mood, random: Random): Named[] {
  const odd = values.map(([name, value]): Named => [oddCase(name, random), value]);
  if (mood !== "wild") return odd;
  const [first] = odd;
  if (first !== undefined && random.chance(0.1))
    odd.push([random.chance(0.5) ? first[0] : first[0].toUpperCase(), hostileText(random)]);
  if (random.chance(0.3)) odd.push([random.pick(unknownNames) ?? "", random.pick([1, hostileText(random), null, {}])]);
  return odd;
}
