/**
 * Tests the result of `npm pack` in isolation: installs the package into an empty folder and uses it through `npx`,
 * with the machine's own Node.js, on SQLite and on a PostgreSQL that is started for it.
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { build } from "esbuild";
import { publint } from "publint";
import sharp from "sharp";
import { adopt, endEverything } from "../testkit/children.ts";
import { untilListening } from "../testkit/server.ts";
import { startThrowawayPostgres } from "./throwaway-postgres.ts";

const root = path.resolve(import.meta.dirname, "..");
const installMsMax = 300_000;

// As on another machine: without this repository on the path, and without npm's settings for it.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|node_|init_cwd|database_url|data_dir)/i.test(name)),
);
environment["PATH"] = (process.env["PATH"] ?? "")
  .split(path.delimiter)
  .filter((folder) => !folder.startsWith(root))
  .join(path.delimiter);

/** Cannot resolve a package of ES modules: `require` before Node.js 20.19, and TypeScript before it read `exports`. */
const unsupported = new Set<string>(["node10", "node16-cjs"]);

let folder: string;
before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "rollcall-package-"));
  await run("npm", ["pack", "--workspace", "server", "--workspace", "sdk", "--pack-destination", folder], root);
  const archives = readdirSync(folder).map((archive) => `./${archive}`);
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...archives], folder);
});
after(async () => {
  await endEverything();
  rmSync(folder, { recursive: true, force: true });
});

describe("the npm package", () => {
  it("contains JavaScript, its licence and its settings, and no tests", () => {
    const files = readdirSync(path.join(folder, "node_modules/rollcall"), { recursive: true, encoding: "utf8" });
    for (const file of ["LICENSE", "README.md", ".env.example", path.join("dist", "main.js")]) {
      assert.ok(files.includes(file), file);
    }
    assert.deepEqual(
      files.filter((file) => /\.ts$|\.test\./.test(file)),
      [],
    );
  });

  it("resolves in Node.js, in bundlers and in TypeScript", async () => {
    for (const archive of readdirSync(folder).filter((file) => file.endsWith(".tgz"))) {
      const tarball = new Uint8Array(readFileSync(path.join(folder, archive)));
      const { messages } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
      assert.deepEqual(messages, [], archive);
      const analysis = await checkPackage(createPackageFromTarballData(tarball));
      assert.ok(analysis.types, archive);
      const problems = analysis.problems.filter((problem) => {
        return !("resolutionKind" in problem && unsupported.has(problem.resolutionKind));
      });
      assert.deepEqual(problems, [], archive);
    }
  });

  it("reports how many bytes each part of the client adds to an app", async (context) => {
    const parts = {
      createRollcall: "",
      connect: "",
      signing: "/signing",
      subscribe: "/events",
      visitors: "/server",
      createCheckin: "/calls",
      createAdmin: "/admin",
    };
    for (const [name, entry] of Object.entries(parts)) {
      const contents = `export { ${name} } from "@rollcall/sdk${entry}"`;
      const options = { bundle: true, minify: true, format: "esm", target: "es2022", write: false } as const;
      const { outputFiles } = await build({ stdin: { contents, resolveDir: folder }, ...options });
      const bytes = gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length;
      context.diagnostic(`${name}: ${(bytes / 1000).toFixed(1)} kB, minified and compressed`);
      assert.ok(bytes > 0);
    }
  });

  it("serves through npx alone, with an embedded database in the working folder", async () => {
    const server = await serve({});
    const { appid, appkey } = readCredentials(server.output());
    await useEverything(server.url, { appid, appkey });
    const { stdout } = await npx(["health"], { PORT: new URL(server.url).port });
    assert.equal(stdout, "ready\n");
    assert.equal(await server.end(), 0);
    assert.ok(existsSync(path.join(folder, "data/rollcall.db")));
    await assert.rejects(npx(["health"], { PORT: new URL(server.url).port }), /no answer from/);
  });

  it("serves the console, whose page loads nothing that is not in the package", async () => {
    const server = await serve({});
    const page = await fetch(`${server.url}/_/console/`);
    assert.equal(page.status, 200);
    const text = await page.text();
    const addresses = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = ""]) => address);
    assert.ok(addresses.length > 2, text);
    for (const address of addresses) {
      const part = await fetch(new URL(address, page.url));
      assert.equal(part.status, 200, address);
      assert.ok((await part.text()).length > 0, address);
    }
    const nonce = /'nonce-([^']+)'/.exec(page.headers.get("content-security-policy") ?? "")?.[1];
    assert.ok(nonce !== undefined && text.includes(`nonce="${nonce}"`) && !text.includes("__CSP_NONCE__"));
    assert.equal(await server.end(), 0);
  });

  it("rollcall/testing starts a throwaway server with the installed Node.js", async () => {
    const script = `
      import { startThrowaway } from "rollcall/testing";
      const server = await startThrowaway({ settings: { debug: true } });
      await server.restart();
      const { url, appid, appkey } = server;
      const body = JSON.stringify({ appid, appkey, platform: "test" });
      const headers = { "content-type": "application/json" };
      console.log((await fetch(url + "/devices", { method: "POST", headers, body })).status);
      await server.stop();`;
    const { stdout } = await run("node", ["--input-type=module", "--eval", script], folder);
    assert.equal(stdout, "201\n");
  });

  it("the client checks in at a server of its testing kit with the installed Node.js", async () => {
    const script = `
      import { createRollcall, ItemAlreadyExists } from "@rollcall/sdk";
      import { createCheckin } from "@rollcall/sdk/calls";
      import { fileStore } from "@rollcall/sdk/node";
      import { createTestServer } from "@rollcall/sdk/testing";
      const server = await createTestServer();
      const { url, appid, appkey } = server;
      const rollcall = createRollcall({ url, appid, appkey, store: fileStore("state") });
      const ada = { userName: "ada", password: "correct horse" };
      await rollcall.signUp(ada);
      await rollcall.signUp(ada).catch((error) => console.log(error instanceof ItemAlreadyExists));
      await rollcall.send(createCheckin({ location: { lat: 48.2, lng: 16.37 }, comment: "Stephansplatz" }));
      for await (const { comment } of rollcall.checkins.search({ userID: "me" })) console.log(comment);
      await rollcall.close();
      await server.stop();`;
    const { stdout } = await run("node", ["--input-type=module", "--eval", script], folder);
    assert.equal(stdout, "true\nStephansplatz\n");
    const files = readdirSync(path.join(folder, "node_modules/@rollcall/sdk"), { recursive: true, encoding: "utf8" });
    for (const file of ["LICENSE", "README.md", path.join("dist", "index.d.ts")]) assert.ok(files.includes(file), file);
    assert.ok(!files.some((file) => file.includes(".test.")));
  });

  it("serves on PostgreSQL", async () => {
    const postgres = await startThrowawayPostgres();
    try {
      const settings = { DATABASE_URL: postgres.url, ROLLCALL_SECRET: "a secret of the package test" };
      const { stdout } = await npx(["apps", "create", "--name", "Packed", "--json"], settings);
      const server = await serve(settings);
      await useEverything(server.url, JSON.parse(stdout));
      assert.equal(await server.end(), 0);
    } finally {
      await postgres.stop();
    }
  });
});

/** Creates a device, a user, a picture and a scaled picture, which needs a worker process and a native dependency. */
async function useEverything(url: string, application: { appid: string; appkey: string }): Promise<void> {
  const { accessToken: device } = await post(`${url}/devices`, { ...application, platform: "test" });
  const { accessToken: token } = await post(`${url}/users`, { username: "ada", password: "secret" }, device);
  const form = new FormData();
  const picture = await sharp({ create: { width: 400, height: 300, channels: 3, background: "teal" } })
    .png()
    .toBuffer();
  form.set("data", new File([new Uint8Array(picture)], "a.png", { type: "image/png" }));
  const { id } = await resultOf(
    await fetch(`${url}/pictures`, { method: "POST", headers: { authorization: `Service ${token}` }, body: form }),
  );
  const small = await fetch(`${url}/pictures/${id}/file?size=40`, { headers: { authorization: `Service ${token}` } });
  assert.equal(small.status, 200);
  assert.equal((await sharp(await small.arrayBuffer()).metadata()).width, 40);
  assert.ok(!existsSync(path.join(folder, "node_modules/@scarf")), "no package that reports installations");
  const script = await fetch(`${url}/_/docs/swagger-ui-bundle.js`);
  assert.ok(script.ok && (await script.text()).length > 100_000);
}

async function post(url: string, body: unknown, token?: string) {
  const headers = {
    "content-type": "application/json",
    ...(token !== undefined && { authorization: `Service ${token}` }),
  };
  return resultOf(await fetch(url, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function resultOf(answer: Response): Promise<Record<string, string>> {
  const text = await answer.text();
  assert.ok(answer.ok, text);
  return JSON.parse(text).result;
}

function readCredentials(output: string): { appid: string; appkey: string } {
  const [, appid = "", appkey = ""] = /appid {3}(\S+)\s+appkey {2}(\S+)/.exec(output) ?? [];
  return { appid, appkey };
}

async function serve(settings: Record<string, string>) {
  // Not through npx, which does not pass on the exit code of its child.
  const launcher = path.join(folder, "node_modules/.bin/rollcall");
  const env = { ...environment, PORT: "0", ...settings };
  const child = adopt(spawn(launcher, ["serve"], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] }));
  const { port, output, end } = await untilListening(child);
  return { url: `http://127.0.0.1:${port}`, output, end: () => end("SIGTERM") };
}

function npx(args: readonly string[], settings: Record<string, string>) {
  return run("npx", ["rollcall", ...args], folder, settings);
}

function run(program: string, args: readonly string[], cwd: string, settings: Record<string, string> = {}) {
  const options = { cwd, env: { ...environment, ...settings }, timeout: installMsMax };
  return promisify(execFile)(program, args, options);
}
