import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import type { BrowserContext, Page } from "playwright-core";
import sharp from "sharp";

const program = path.resolve(import.meta.dirname, "../../../examples/web/serve.ts");

/** Walks through examples/web as two users would: one in two tabs, with a photo. */
export async function walkExample(context: BrowserContext): Promise<void> {
  const server = spawn(process.execPath, [program], {
    env: { PATH: process.env["PATH"], PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [url] = await once(createInterface({ input: server.stdout }), "line");
    await context.route("https://tile.openstreetmap.org/**", (route) => route.abort());
    const [first, second] = [await openPage(context, url), await openPage(context, url)];
    await first.fill("[name=userName]", "ada");
    await first.fill("[name=password]", "correct horse");
    await first.click("#sign-in button");
    await second.waitForSelector("#check-in"); // signed in by the other tab
    assert.equal(await second.textContent("#name"), "ada");

    await first.fill("[name=comment]", "<b>Stephansplatz</b>");
    await first.setInputFiles("#photo", { name: "noon.png", mimeType: "image/png", buffer: await picture() });
    await first.click("#check-in button[type=submit]");
    await first.waitForSelector("#list .item img");
    assert.equal(await first.textContent("#list .comment"), "<b>Stephansplatz</b>");
    const isLoaded = () => document.querySelector<HTMLImageElement>("#list img")?.naturalWidth ?? 0;
    await first.waitForFunction(isLoaded);

    await second.click("#sign-out");
    await first.waitForSelector("#sign-in");
    await first.fill("[name=userName]", "ada");
    await first.fill("[name=password]", "another horse");
    await first.click("#sign-in button");
    await first.waitForSelector("#message.bad");
    assert.match((await first.textContent("#message")) ?? "", /^This name is taken/);
  } finally {
    server.kill("SIGTERM");
    await once(server, "exit");
  }
}

async function openPage(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForSelector("#sign-in, #check-in");
  return page;
}

function picture(): Promise<Buffer> {
  return sharp({ create: { width: 400, height: 300, channels: 3, background: "teal" } })
    .png()
    .toBuffer();
}
