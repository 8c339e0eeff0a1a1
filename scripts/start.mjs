// `npm start`: starts the server at once and, beside it, builds the console if its sources have changed.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { fileURLToPath } from "node:url";

if (isBuildable()) buildConsole();
await import("../server/bin/rollcall.mjs");

/** Whether the development dependencies are installed. */
function isBuildable() {
  return existsSync(pathTo("../node_modules/vite/package.json"));
}

/** Runs with low priority. Outlives an early end of the server, because a build that is cut off leaves its lock. */
function buildConsole() {
  const build = [pathTo("../console/scripts/build.ts"), "--if-changed"];
  const child = spawn(process.execPath, build, { detached: true, stdio: ["ignore", "ignore", "inherit"] });
  child.on("error", (error) => console.error(`the console is not built: ${error.message}`));
  child.on("exit", (code) => {
    if (code !== 0) console.error("the console is not built: see above");
  });
  child.unref();
  try {
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It has ended already.
  }
}

function pathTo(relative) {
  return fileURLToPath(new URL(relative, import.meta.url));
}
