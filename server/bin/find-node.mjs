import { createRequire } from "node:module";

const nodeMajorMin = 26;

/** Whether this process runs on a release that the server is made for. */
export const isNodeRecent = Number.parseInt(process.versions.node, 10) >= nodeMajorMin && !("bun" in process.versions);

/** The Node.js that runs the server: this one, or the one that the package brings along. @throws Error */
export function findNode() {
  if (isNodeRecent) return process.execPath;
  const node = findInstalledNode();
  if (node !== undefined) return node;
  throw new Error(
    `Rollcall needs Node.js ${nodeMajorMin}, and this is ${process.version}. The package brings one along as an optional ` +
      "dependency, which is not installed: install it with those, or install that release yourself.",
  );
}

/** The Node.js that the package brings along; undefined where it is not installed. */
export function findInstalledNode() {
  const { platform, arch } = process;
  const system = `${platform === "win32" ? "win" : platform}-${arch}`;
  const name = system === "darwin-arm64" ? "node-bin" : "node";
  try {
    return createRequire(import.meta.url).resolve(`${name}-${system}/bin/node${platform === "win32" ? ".exe" : ""}`);
  } catch {
    return undefined;
  }
}
