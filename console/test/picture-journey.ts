import assert from "node:assert/strict";
import type { Request } from "playwright-core";
import { registerDevice } from "./jobs/steps.ts";
import { teal, uploadPicture } from "./profile-picture.ts";
import { type Checks, connect, send } from "./suite.ts";

const usersWithPicture = 40;
const picturesAtOnceMax = 4;
const lowWindow = { viewport: { width: 1200, height: 420 } };

/** The database makes no difference to it. */
export const pictureJourney: Checks = {
  // spec/console#pictures-of-users
  async "users have their pictures once they are in sight, a few at a time, and otherwise their initials"({
    server,
    openSession,
  }) {
    const { result: application } = await (await connect(server))("POST", "/applications", { name: "Pictures" });
    const { appid } = application;
    const device = await registerDevice(server.url, application);
    const signUp = async (user: object) =>
      (await send(`${server.url}/users`, "POST", { password: "correct horse", ...user }, device)).result;
    for (let index = 0; index < usersWithPicture; index += 1) {
      const { accessToken } = await signUp({ username: `user ${index}` });
      await uploadPicture(server.url, accessToken);
    }
    const broken = await signUp({ username: "broken" });
    const { id: brokenId } = await uploadPicture(server.url, broken.accessToken);
    await signUp({ username: "grace", firstName: "Grace", lastName: "Hopper" });

    const page = await openSession(lowWindow);
    const isOfPicture = (request: Request) => request.url().includes("/pictures/");
    const asked: Request[] = [];
    const underWay = new Set<Request>();
    let mostAtOnce = 0;
    page.on("request", (request) => {
      if (!isOfPicture(request)) return;
      asked.push(request);
      underWay.add(request);
      mostAtOnce = Math.max(mostAtOnce, underWay.size);
    });
    for (const end of ["requestfinished", "requestfailed"] as const)
      page.on(end as "requestfinished", (request) => underWay.delete(request));
    await page.route(`**/pictures/${brokenId}/**`, (route) =>
      route.fulfill({ contentType: "image/png", body: "no picture" }),
    );
    await page.goto(`${server.url}/_/console/#/apps/${appid}/users`);
    const row = (name: string) => page.getByRole("row").filter({ has: page.getByText(name, { exact: true }) });
    await row("user 39").locator("canvas").waitFor();
    await row("grace").getByText("GH").waitFor();
    await row("broken").getByText("B", { exact: true }).waitFor();
    assert.equal(await row("broken").locator("canvas").count(), 0);
    assert.ok(asked.length < usersWithPicture / 2, `${asked.length} pictures for a window of a few rows`);
    for (const request of asked) {
      assert.equal(new URL(request.url()).searchParams.get("size"), "96");
      assert.equal(request.headers()["x-rollcall-console"], "poll");
    }

    await row("user 39").focus();
    await page.keyboard.press("End");
    await row("user 0").locator("canvas").waitFor();
    assert.equal(new Set(asked.map((request) => request.url())).size, asked.length, "a picture was fetched twice");
    assert.ok(mostAtOnce <= picturesAtOnceMax, `${mostAtOnce} at once`);

    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "user 0" }).waitFor();
    const drawn = page.locator("#main canvas").first();
    const color = await drawn.evaluate((canvas) => {
      const { data } = (canvas as HTMLCanvasElement).getContext("2d")?.getImageData(9, 9, 1, 1) ?? { data: [] };
      return [...data];
    });
    assert.deepEqual(color, [...teal, 255]);
  },
};
