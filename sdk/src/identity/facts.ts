import { withoutAbsent } from "../lib/without-absent.ts";
import type { DeviceFacts, IdentityOptions } from "./options.ts";

/** The facts about the device in a registration. */
export function factsOf({ device }: Pick<IdentityOptions, "device">): DeviceFacts & { readonly platform: string } {
  return { platform: platformName(), ...withoutAbsent({ ...device }) };
}

/** A digest of each fact, so that the stored record contains no push token. */
export function digestsOf(facts: DeviceFacts): Record<string, number> {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, digest(`${value}`)]));
}

/** 32-bit FNV-1a; collisions are rare. */
function digest(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ Number(character.codePointAt(0)), 0x01000193);
  return hash;
}

/** The name of the runtime, the default platform of a device. */
function platformName(): string {
  const runtime = ["Deno", "Bun"].find((name) => name in globalThis);
  return runtime ?? (typeof document === "object" ? "Web" : "process" in globalThis ? "Node" : "Worker");
}
