import { spawn } from "node:child_process";
import { stopWithParent } from "./stop-with-parent.mjs";

/**
 * Passes this process on to another release of Node.js: signals and the end of the IPC channel go there, and its exit
 * code or signal becomes that of this process.
 */
export function runOn(node, args) {
  const stdio = ["inherit", "inherit", "inherit"];
  if (process.connected) stdio.push("ipc");
  const child = spawn(node, args, { stdio });
  process.once("disconnect", () => child.connected && child.disconnect());
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      // A terminal has already sent its own Ctrl-C and hang-up to both processes; twice could mean "at once".
      if (signal === "SIGTERM" || !process.stdin.isTTY) child.kill(signal);
    });
  }
  stopWithParent();
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
