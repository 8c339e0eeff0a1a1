import manifest from "../package.json" with { type: "json" };

/** The release, from package.json alone. */
export const version: string = manifest.version;
