import { type Config, mainRegion } from "../config.ts";
import type { Queries } from "../db/database.ts";
import { findHost } from "./regions.directory.store.ts";

/** Which regions there are, and what belongs where (surface.md section 14). */
export interface Regions {
  /** The name of this one. */
  readonly own: string;
  readonly isMain: boolean;
  /** False where this is the only region that is known of. */
  readonly areSeveral: boolean;
  /** The names of the other ones. */
  readonly others: readonly string[];
  /** Where clients reach a region. */
  rootOf(region: string): string | undefined;
  /** What clients are told beside their tokens; nothing in the main region, which they know. */
  serviceRoot(): string | undefined;
  /** Where the region is that a token names, when that is another one; the token may be made up. Reads no database. */
  rootOfToken(token: string): string | undefined;
  /** The region where an application lives that does not live here. */
  hostOf(applicationId: string): Promise<string | undefined>;
  /** Where that is for clients. */
  rootOfHost(applicationId: string): Promise<string | undefined>;
}

export function createRegions(
  config: Pick<Config, "region" | "regions">,
  { reads, serverUrl }: { readonly reads: Queries; serverUrl(): string },
): Regions {
  const { region: own, regions } = config;
  const isMain = own === mainRegion;
  const areSeveral = regions.size > 0;
  const rootOf = (region: string) => regions.get(region);

  async function hostOf(applicationId: string): Promise<string | undefined> {
    const host = areSeveral ? await findHost(applicationId, reads) : undefined;
    return host === own ? undefined : host;
  }

  return {
    own,
    isMain,
    areSeveral,
    others: [...regions.keys()].filter((name) => name !== own),
    rootOf,
    serviceRoot: () => (isMain ? undefined : (rootOf(own) ?? serverUrl())),
    rootOfToken(token) {
      const region = token.slice(0, Math.max(0, token.indexOf(".")));
      return region === own ? undefined : rootOf(region);
    },
    hostOf,
    async rootOfHost(applicationId) {
      const host = await hostOf(applicationId);
      return host === undefined ? undefined : rootOf(host);
    },
  };
}
