import { type Actor, credentialsOf } from "./actors.ts";
import type { Mood } from "./compose.ts";
import type { Random } from "./random.ts";
import type { HeaderLine } from "./request.ts";
import type { World } from "./world.ts";

interface Presented {
  readonly headers: readonly HeaderLine[];
  readonly isAuthentic: boolean;
}

/** The valid token, or a damaged one. */
export function presentToken(
  caller: Actor | undefined,
  method: string,
  target: string,
  world: World,
  mood: Mood,
  random: Random,
): Presented {
  const [path = ""] = target.split("?", 1);
  if (caller === undefined) return { headers: [], isAuthentic: false };
  const credentials = credentialsOf(caller, method, path);
  const good = random.pick(["Service", "Service", "service", "Bearer"]);
  if (mood === "honest" || random.chance(0.8))
    return { headers: [["Authorization", `${good} ${credentials}`]], isAuthentic: true };
  const { token } = caller;
  const at = random.below(token.length);
  const other = token[at] === "A" ? "B" : "A";
  const false_ = random.pick([
    "",
    "Service",
    `Basic ${token}`,
    token,
    `Service ${token.slice(0, -1)}`,
    `Service ${token}A`,
    `Service ${token.slice(0, at)}${other}${token.slice(at + 1)}`,
    `Service ${token.replace("main.", "eu.")}x`,
    `Service ${token.toUpperCase()}`,
    `Service ${random.pick(world.deadTokens) ?? "x"}`,
    `Service ${"x".repeat(5_000)}`,
    "Service 'or'1'='1",
    ...(credentials === token
      ? []
      : [`Service ${token}`, `Service ${credentials.slice(0, -1)}`, `Service ${token} ${"0".repeat(64)}`]),
  ]);
  return { headers: [["Authorization", false_]], isAuthentic: false };
}
