import assert from "node:assert/strict";
import { watchPages } from "../profiles.ts";
import { type Checks, connect, send } from "../suite.ts";

const script = "document.title = 'ran'; self.ran = true;";

/** Files that a browser could take for a document or a script, by their name. */
const files = {
  "page.html": { type: "text/html", content: `<!doctype html><title>file</title><script>${script}</script>` },
  "picture.svg": {
    type: "image/svg+xml",
    content: `<svg xmlns="http://www.w3.org/2000/svg" onload="${script}"><script>${script}</script></svg>`,
  },
  "data.xml": {
    type: "application/xml",
    content: `<html xmlns="http://www.w3.org/1999/xhtml"><script>${script}</script></html>`,
  },
  "polyglot.gif": { type: "text/html", content: `GIF89a/*<svg onload="${script}">*/=1;${script}` },
  "polyglot.txt": { type: "text/plain", content: `<!doctype html><script>${script}</script>` },
  "script.js": { type: "text/javascript", content: script },
};

export const uploads: Checks = {
  async "uploaded pages, pictures, polyglots and scripts run nowhere"({ server, browser }) {
    const { result: application } = await (await connect(server))("POST", "/applications", { name: "Uploads" });
    const { appid, appkey } = application;
    const { result: device } = await send(`${server.url}/devices`, "POST", { appid, appkey, platform: "iOS" });
    const account = { username: "uploader", password: "correct horse" };
    const ofDevice = { Authorization: `Service ${device.accessToken}` };
    const { result: user } = await send(`${server.url}/users`, "POST", account, ofDevice);
    const page = await watchPages(browser, server.url, {}, []); // refusals are expected here, and no misdeed of the console
    try {
      for (const [name, { type, content }] of Object.entries(files)) {
        const address = await upload(server.url, user.accessToken, new File([content], name, { type }));
        // A download has no page, and `goto` throws.
        const response = await page.goto(address).catch(() => null);
        if (response !== null) assert.notEqual(await page.title(), "ran", name);

        await page.goto(`${server.url}/_/console/`);
        await page.getByRole("button", { name: "Sign in" }).waitFor();
        assert.equal(await page.evaluate(addElements, address), "nothing ran", name);
      }
    } finally {
      await page.context().close();
    }
  },
};

/** @returns its signed address */
async function upload(url: string, token: string, file: File): Promise<string> {
  const form = new FormData();
  form.append("data", file);
  const headers = { Authorization: `Service ${token}` };
  const response = await fetch(`${url}/blobs`, { method: "POST", headers, body: form });
  const { result } = (await response.json()) as { result: { signedUrl: string } };
  return new URL(result.signedUrl, url).href;
}

/** Runs in the page of the console: the capabilities of a bug there. */
async function addElements(address: string): Promise<string> {
  for (const [tag, attribute] of [
    ["img", "src"],
    ["iframe", "src"],
    ["object", "data"],
    ["embed", "src"],
    ["script", "src"],
  ] as const) {
    const element = document.createElement(tag);
    const settled = new Promise((resolve) => {
      for (const event of ["load", "error", "securitypolicyviolation"]) {
        element.addEventListener(event, resolve);
        document.addEventListener(event, resolve);
      }
    });
    try {
      Reflect.set(element, attribute, address);
      document.body.append(element);
      await settled;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // Trusted Types
    }
    element.remove();
  }
  return "ran" in globalThis || document.title === "ran" ? "something ran" : "nothing ran";
}
