const nodeMajorMin = 26;

/** Whether this process runs on a release that the server is made for. */
export const isNodeRecent = Number.parseInt(process.versions.node, 10) >= nodeMajorMin && !("bun" in process.versions);

/** The Node.js that runs the server: this one, or the one that the package brings along. @throws Error */
export async function findNode() {
  if (isNodeRecent) return process.execPath;
  const { createRequire } = await import("node:module");
  try {
    return createRequire(import.meta.url).resolve(`node/bin/node${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    throw new Error(
      `Rollcall needs Node.js ${nodeMajorMin}, and this is ${process.version}. The package brings one along, but the install ` +
        "script of its dependency `node` has not run: allow it, or install that release yourself.",
    );
  }
}
