import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { execute, type Generator } from "./tools.ts";

const packages = ["openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3", "@types/node@24.10.1"];

const client = `import createClient from "openapi-fetch";
import type { components, paths } from "./clients.js";

const { ROLLCALL_URL: baseUrl = "", ROLLCALL_APPID: appid = "", ROLLCALL_APPKEY: appkey = "" } = process.env;
const client = createClient<paths>({ baseUrl });
const register = await client.POST("/devices", { body: { appid, appkey, platform: "openapi-typescript" } });
if (register.data === undefined) throw new Error(register.error.error);
let headers = { Authorization: "Service " + register.data.result.accessToken };

const body = { username: "ts-" + Date.now(), password: "correct horse" };
const signUp = await client.POST("/users", { headers, body });
if (signUp.data === undefined) throw new Error(signUp.error.error);
const user: components["schemas"]["UserWithToken"] = signUp.data.result;
headers = { Authorization: "Service " + user.accessToken };

const checkin = await client.POST("/checkins", { headers, body: { location: "48.2082,16.3738", comment: "TypeScript" } });
if (checkin.data === undefined) throw new Error(checkin.error.error);
const page = await client.GET("/checkins", { headers, params: { query: { userID: "me", pageSize: 10 } } });
const [found] = page.data?.result.pageResults ?? [];
if (found?.id !== checkin.data.result.id || found.location.lat !== 48.2082) throw new Error("The check-in is missing");
`;

const options = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    module: "nodenext",
    target: "es2022",
    types: ["node"],
  },
};

/** Types by openapi-typescript, with TypeScript 5, which it needs, and calls by openapi-fetch. */
export const typescript: Generator = {
  name: "typescript",
  programs: ["npm", "node"],
  mayBeSkipped: false,
  async run({ folder, documents, server }) {
    writeFileSync(path.join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
    await execute("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", "--save-exact", ...packages], {
      folder,
    });
    for (const [audience, document] of Object.entries(documents)) {
      const types = `${audience}.d.ts`;
      const output = await execute("node_modules/.bin/openapi-typescript", [document, "-o", types], { folder });
      if (/warn/i.test(output)) throw new Error(output);
      if (!/\bdescription|@description/.test(readFileSync(path.join(folder, types), "utf8"))) {
        throw new Error(`${types} has no descriptions`);
      }
    }
    writeFileSync(path.join(folder, "client.ts"), client);
    writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(options));
    await execute("node_modules/.bin/tsc", ["-p", "."], { folder });
    await execute("node", ["client.js"], { folder, environment: server });
  },
};
