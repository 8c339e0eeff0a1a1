const everyMs = 1_000;

/**
 * Stops this process as SIGTERM does when its parent ends, if npm has started it. npm and npx pass no signal on to the
 * shell that runs a command, and end themselves, so that a server would keep its port without them.
 */
export function stopWithParent() {
  if (process.env.npm_command === undefined || process.platform === "win32") return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, everyMs);
  timer.unref();
}
