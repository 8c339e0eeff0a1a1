import type { DeviceFacts, IdentityOptions } from "./options.ts";

/** What a registration says about the device. */
export function factsOf({ device }: Pick<IdentityOptions, "device">): DeviceFacts & { readonly platform: string } {
  return { ...device, platform: device?.platform ?? platformName() };
}

/** A digest of each fact, so that what is stored shows no push token. */
export function digestsOf(facts: DeviceFacts): Record<string, string> {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, digest(`${value}`)]));
}

/** 64 bits that differ for different texts, but by a very rare chance: two rounds of multiplication (FNV-1a). */
function digest(text: string): string {
  let [high, low] = [0xdeadbeef, 0x811c9dc5];
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    high = Math.imul(high ^ code, 0x85ebca6b);
    low = Math.imul(low ^ code ^ (high >>> 15), 0x01000193);
  }
  return `${high}${low}`;
}

/** The runtime, as the platform of a device whose app names none. */
function platformName(): string {
  if ("Deno" in globalThis) return "Deno";
  if ("Bun" in globalThis) return "Bun";
  if (typeof document !== "undefined") return "Web";
  return "process" in globalThis ? "Node" : "Worker";
}
