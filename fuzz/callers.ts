import type { Actor, Application, Client, Operator } from "./actors.ts";
import type { Mood } from "./compose.ts";
import type { Operation } from "./document.ts";
import type { Random } from "./random.ts";
import type { Setting } from "./recipes.ts";
import { idsFor, idsOf } from "./values.ts";
import type { World } from "./world.ts";

/** Chooses a caller: mostly one that may make the call, otherwise any. */
export function settingFor(operation: Operation, mood: Mood, world: World, random: Random, prepared?: Client): Setting {
  const isRight = mood === "honest" ? random.chance(0.93) : random.chance(0.75);
  const caller = prepared ?? pickCaller(operation, isRight, world, random);
  const mayChange = caller?.kind === "operator" && caller.role !== "viewer" && operation.method !== "GET";
  const application = applicationOf(caller, mayChange, world, random);
  const isReading = operation.method === "GET" || operation.method === "HEAD";
  const ids =
    caller === undefined || caller.kind === "operator"
      ? operatorIds(application, mayChange, world)
      : idsFor(caller, isReading, random);
  return { operation, caller, application, world, random, ids };
}

function operatorIds(application: Application, mayChange: boolean, world: World) {
  const ofApplication = idsOf(application);
  return (prefix: string): readonly string[] => {
    if (prefix !== "opr") return ofApplication(prefix);
    return mayChange
      ? world.madeOperators
      : [...world.operators.map(({ operatorId }) => operatorId), ...world.madeOperators];
  };
}

/** Operations that revoke the token they are called with. */
const ending: ReadonlySet<string> = new Set(["deleteUser", "logoutUser"]);

function pickCaller(operation: Operation, isRight: boolean, world: World, random: Random): Actor | undefined {
  const { caller: kind, id, method, path } = operation;
  const needed = isRight ? kind : random.pick(["anyone", "device", "user", "operator"] as const);
  const living = <Some extends Actor>(actors: readonly Some[]) => actors.filter(({ isAlive }) => isAlive);
  switch (needed) {
    case "anyone":
      return random.chance(0.5) ? undefined : random.pick(living(world.clients));
    case "operator": {
      const operators = living<Operator>(world.operators);
      const isOfOwners = path.startsWith("/_/api/operators") || random.chance(0.5);
      const strong = operators.filter(
        ({ role }) => role === "owner" || (!isOfOwners && role === "editor" && method !== "GET"),
      );
      return random.pick(isRight && strong.length > 0 && random.chance(0.75) ? strong : operators);
    }
    default: {
      const isApart = random.chance(0.06);
      const clients = living<Client>(world.clients).filter(({ application }) => isApart || !application.isSandbox);
      const victims =
        isRight && ending.has(id) ? clients.flatMap(({ application }) => living(application.victims)) : [];
      const fitting = clients.filter((each) => each.kind === needed || (needed === "device" && random.chance(0.5)));
      const prefix = prefixOf(operation);
      const rich = fitting.filter(({ own }) => prefix !== undefined && own.of(prefix).length > 0);
      if (rich.length > 0 && random.chance(0.7)) return random.pick(rich);
      return random.pick(victims.length > 0 && random.chance(0.9) ? victims : fitting);
    }
  }
}

/** The ids that a caller needs: `chk` for a parameter that takes the id of a check-in. */
function prefixOf({ inPath, path }: Operation): string | undefined {
  if (path.startsWith("/files/uploads/")) return "upl";
  return inPath
    .map(({ schema }) => /^\^([a-z]{3})_/.exec(schema.pattern ?? "")?.[1])
    .findLast((prefix) => prefix !== "usr");
}

/** Only objects that no other call of the fuzzer uses may be changed. */
function applicationOf(caller: Actor | undefined, mayChange: boolean, world: World, random: Random): Application {
  const sandboxes = world.applications.filter(({ isSandbox, isAlive }) => isSandbox && isAlive);
  const sandbox = random.pick(sandboxes);
  if (caller !== undefined && caller.kind !== "operator") return caller.application;
  const lasting = world.applications.filter(({ isSandbox }) => !isSandbox);
  const other = random.pick(lasting);
  const chosen = mayChange || random.chance(0.6) ? sandbox : other;
  const found = chosen ?? (mayChange ? undefined : other);
  if (found === undefined) throw new Error("no application is left to work on");
  found.uses += 1;
  return found;
}
