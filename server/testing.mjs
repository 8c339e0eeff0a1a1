// `rollcall/testing`: starts throwaway servers for the tests of an app. Runs on Node.js 20 or later, and on Bun.

import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { findNode } from "./bin/find-node.mjs";

const program = fileURLToPath(new URL("bin/rollcall.mjs", import.meta.url));
const inherited = ["PATH", "HOME", "TMPDIR"];

/** Another program may use the port of a killed server for a short time, such as for an outgoing connection. */
const portRetries = { count: 300, pauseMs: 100 };

export async function startThrowaway({ settings, env = {}, onLogLine = () => {} } = {}) {
  const options = { env, onLogLine };
  let running = await run([], options);
  const { record } = running;
  const removeFolder = () => rmSync(record.dataDir, { recursive: true, force: true, maxRetries: 3 });
  process.once("exit", removeFolder);

  const server = {
    ...record,
    kill: () => running.end("SIGKILL"),
    async restart() {
      await server.kill();
      running = await resume(record.dataDir, options);
    },
    async stop() {
      await running.end("SIGTERM");
      removeFolder();
      process.off("exit", removeFolder);
    },
  };
  try {
    if (settings !== undefined) await configure(record, settings);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

async function resume(folder, options) {
  for (let left = portRetries.count; ; left--) {
    try {
      return await run(["--resume", folder], options);
    } catch (error) {
      if (left === 0 || !/EADDRINUSE/.test(error.message)) throw error;
      await sleep(portRetries.pauseMs);
    }
  }
}

/** Starts the server and waits until it listens. */
async function run(args, { env, onLogLine }) {
  const own = Object.fromEntries(inherited.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])));
  const child = spawn(findNode(), [program, "serve", "--throwaway", "--json", ...args], {
    env: { ...own, ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const exited = new Promise((resolve) => {
    child.once("error", resolve);
    child.once("close", resolve);
  });
  let isListening = false;
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    if (isListening) process.stderr.write(text);
    else complaint += text;
  });
  const record = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (isListening) onLogLine(line);
      else resolve(JSON.parse(line));
      isListening = true;
    });
    exited.then((result) => {
      const reason = result instanceof Error ? result.message : complaint.trim();
      reject(new Error(`The server does not start. ${reason}`));
    });
  });
  for (const part of [child, child.channel, child.stdout, child.stderr]) part?.unref?.(); // must not keep the tests running
  return {
    record,
    async end(signal) {
      child.ref();
      child.kill(signal);
      await exited;
    },
  };
}

/** Changes the application's settings, as the owner. */
async function configure({ url, appid, operator }, settings) {
  const { token } = await call(url, "POST", "/sessions", operator);
  await call(url, "PATCH", `/applications/${appid}/settings`, settings, token);
  await call(url, "DELETE", "/sessions/current", undefined, token);
}

async function call(url, method, path, body, token) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Service ${token}` }) };
  const answer = await fetch(`${url}/_/api${path}`, { method, headers, body: JSON.stringify(body) });
  const { result, message, error } = await answer.json();
  if (!answer.ok) throw new Error(message ?? error);
  return result;
}
