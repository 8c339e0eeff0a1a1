import type { Config } from "../config/config.ts";
import { mainRegion } from "../config/regions.ts";
import type { Queries } from "../db/database.ts";
import { findHost } from "./regions.directory.store.ts";

/** The regions and the applications that belong to them (spec/regions). */
export interface Regions {
  /** The name of this region. */
  readonly own: string;
  readonly isMain: boolean;
  /** False if there is only this region. */
  readonly areSeveral: boolean;
  /** The names of the other regions. */
  readonly others: readonly string[];
  /** The URL under which clients reach a region. */
  rootOf(region: string): string | undefined;
  /**
   * The root that a registration returns next to the token. Clients know the main region, so it is returned only to a
   * client that registered in another region, where the application was before: that client has stored the other root.
   */
  serviceRoot(registration: { readonly isForwarded: boolean }): string | undefined;
  /**
   * The root of the region in a token, if it is another region; the token is not verified. Does not read the database.
   */
  rootOfToken(token: string): string | undefined;
  /** The region of a remote application. */
  hostOf(applicationId: string): Promise<string | undefined>;
  /** The root of that region. */
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
    serviceRoot: ({ isForwarded }) => (isMain && !isForwarded ? undefined : (rootOf(own) ?? serverUrl())),
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
