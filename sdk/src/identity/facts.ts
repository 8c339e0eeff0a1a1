import type { DeviceFacts, IdentityOptions } from "./options.ts";

/** What a registration says about the device. */
export function factsOf({ device }: Pick<IdentityOptions, "device">): DeviceFacts & { readonly platform: string } {
  return { ...device, platform: device?.platform ?? platformName() };
}

/** A digest of each fact, so that what is stored shows no push token. */
export function digestsOf(facts: DeviceFacts): Record<string, string> {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, digest(`${value}`)]));
}

/** The facts that differ from those with these digests. */
export function changedFacts(facts: DeviceFacts, digests: Readonly<Record<string, string>>): DeviceFacts {
  const changed = Object.entries(facts).filter(([name, value]) => digests[name] !== digest(`${value}`));
  return Object.fromEntries(changed);
}

/** 53 bits that differ for different texts, but by a very rare chance (cyrb53 by bryc, public domain). */
function digest(text: string): string {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(36);
}

/** The runtime, as the platform of a device whose app names none. */
function platformName(): string {
  if ("Deno" in globalThis) return "Deno";
  if ("Bun" in globalThis) return "Bun";
  if (typeof document !== "undefined") return "Web";
  return "process" in globalThis ? "Node" : "Worker";
}
