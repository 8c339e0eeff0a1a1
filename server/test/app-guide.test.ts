import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { updateApplicationSettings } from "../src/tenancy/application-settings.ts";
import { startTestApp, type TestApp } from "./harness.ts";
import { startTestIssuer, type TestIssuer } from "./oidc-issuer.ts";

/** The examples of docs/build/app-guide.md run from top to bottom, and print the documented output. */

const guide = readFileSync(join(import.meta.dirname, "../../docs/build/app-guide.md"), "utf8");

let test: TestApp;
let issuer: TestIssuer;
let folder: string;
before(async () => {
  test = await startTestApp();
  issuer = await startTestIssuer(() => test.now());
  folder = mkdtempSync(join(tmpdir(), "rollcall-guide-"));
  await test.app.database.write(({ queries }) =>
    updateApplicationSettings(test.application.appid, { oidc: { google: issuer.provider } }, queries),
  );
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await issuer.close();
  await test.close();
});

/** The code blocks of a language, with the server and application of the test. */
function blocksOf(language: string): string[] {
  const { appid, appkey } = test.application;
  return [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, block = ""]) =>
    block.replaceAll("http://127.0.0.1:8080", test.url).replaceAll("app_…", appid).replaceAll("rk_…", appkey),
  );
}

/** The documented output by line. The lines of a loop are separated by bars. */
function promisedLines(): string[] {
  return blocksOf("js").flatMap((block) =>
    [...block.matchAll(/console\.log\(.*\); \/\/ → (.*)$/gm)].flatMap(([, line = ""]) => line.split(" | ")),
  );
}

/** The platform functions of the guide, and a network that loses the first responses of these paths. */
const platform = `
import { readdirSync, readFileSync } from "node:fs";
const realFetch = globalThis.fetch;
const keysSeen = new Set();
globalThis.fetch = async (url, options) => {
  const response = await realFetch(url, options);
  const key = options?.headers?.["Idempotency-Key"];
  if (key === undefined || keysSeen.has(key)) return response;
  keysSeen.add(key);
  await response.arrayBuffer();
  throw new TypeError("fetch failed");
};
const idTokenFromProvider = async () => process.env.ID_TOKEN;
async function codeFromUser() {
  for (;;) {
    const [file] = readdirSync(process.env.MAIL_FOLDER, { recursive: true }).filter((name) => name.endsWith(".eml"));
    const code = file && /in the app: (\\S+)/.exec(readFileSync(process.env.MAIL_FOLDER + "/" + file, "utf8"))?.[1];
    if (code) return code;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
`;

describe("docs/build/app-guide.md", () => {
  it("the JavaScript examples run from top to bottom despite lost responses, and print the documented output", async () => {
    const program = join(folder, "guide.mjs");
    writeFileSync(program, [platform, ...blocksOf("js")].join("\n"));
    const env = {
      PATH: process.env["PATH"],
      ID_TOKEN: await issuer.sign({ sub: "linus" }),
      MAIL_FOLDER: test.config.dataDir,
    };
    const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "pipe"], timeout: 60_000 });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    assert.deepEqual([code, stderr], [0, ""], stdout);
    const printed = stdout.trim().split("\n");
    const promised = promisedLines();
    assert.ok(promised.length >= 10);
    assert.equal(printed.length, promised.length, stdout);
    for (const [n, line] of promised.entries()) {
      const pattern = line.split("…").map((part) => part.replaceAll(/[.*+?^$()|[\]{}\\]/g, "\\$&"));
      assert.match(printed[n] ?? "", new RegExp(`^${pattern.join(".*")}$`));
    }
  });

  it("lost responses cause no duplicates: each effect is stored once", async () => {
    const { reads } = test.app.database;
    const checkins = await reads.selectFrom("checkins").select("comment").where("comment", "is not", null).execute();
    const comments = checkins.map(({ comment }) => comment).sort();
    assert.deepEqual(comments, ["Naschmarkt", "Prater", "Stephansdom", "in the tunnel", "with a photo"]);
    const pictures = await reads.selectFrom("files").select("id").where("content_type", "=", "image/gif").execute();
    assert.equal(pictures.length, 3);
  });

  it("the shell examples run", async () => {
    for (const tool of ["bash", "curl"]) {
      await promisify(execFile)(tool, ["--version"]).catch(() => assert.fail(`this test needs ${tool} on the PATH`));
    }
    const blocks = blocksOf("sh");
    assert.ok(blocks.length > 0);
    for (const block of blocks) {
      const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", block]);
      assert.equal(JSON.parse(stdout).success, true, stdout);
    }
  });

  it("every code block is run, and every section is in the table of contents", () => {
    const fences = [...guide.matchAll(/^```(\w*)$/gm)].map(([, language]) => language).filter((each) => each !== "");
    assert.deepEqual([...new Set(fences)].sort(), ["js", "sh"]);
    const sections = [...guide.matchAll(/^## (.*)$/gm)].map(([, title]) => title);
    const listed = [...guide.matchAll(/^- \[(.*)\]\(#(.*)\)$/gm)];
    assert.deepEqual(
      listed.map(([, title]) => title),
      sections,
    );
    for (const [, title = "", anchor] of listed) {
      assert.equal(
        anchor,
        title
          .toLowerCase()
          .replaceAll(/[^\w -]/g, "")
          .replaceAll(" ", "-"),
      );
    }
  });

  it("names existing errors only", () => {
    const catalogue = readFileSync(join(import.meta.dirname, "../../docs/build/errors.md"), "utf8");
    const named =
      guide.match(/\b(?:Auth|Parameter|Item|Object|Request|File|Idempotency|RateLimit|Service|Internal)[A-Z]\w+/g) ??
      [];
    for (const name of named) assert.ok(catalogue.includes(`| ${name} |`), name);
  });
});
