import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readCall } from "../../test/answers.ts";
import { systemClock } from "../lib/clock.ts";
import { openDownload } from "./download.ts";
import { createLimits } from "./limits.ts";

describe("a download", () => {
  const server = createServer((_, response) => void response.end("all of it"));
  before(() => once(server.listen(0, "127.0.0.1"), "listening"));
  after(() => void server.close());

  /** Keeps nothing of the answer but the download. */
  async function download() {
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/`);
    const limits = createLimits(systemClock);
    const end = () => {};
    return openDownload(response, { call: readCall, options: {}, clock: systemClock, limits, stallMs: 60_000, end });
  }

  it("delivers its bytes even when they are read after a garbage collection", async () => {
    const file = await download();
    for (let round = 0; round < 5; round += 1) {
      collectGarbage();
      await sleep(10); // for the work that follows a collection
    }
    assert.equal(await file.text(), "all of it");
  });
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
