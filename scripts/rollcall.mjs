#!/usr/bin/env node
// `npx rollcall <command>` in a clone before the installation: npm finds this file in the package of the clone itself.
// Installs missing dependencies, as `npm start` does, and runs the command.

process.argv.splice(2, 0, "server/bin/rollcall.mjs");
await import("./run.mjs");
