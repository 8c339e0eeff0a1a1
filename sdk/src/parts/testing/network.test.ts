import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { breakableNetwork } from "./network.ts";

const url = "https://service.example";

/** A network over one that counts what reaches the service. */
function countingNetwork() {
  let count = 0;
  const behind = async () => {
    count += 1;
    return new Response("answer");
  };
  return { ...breakableNetwork({ fetch: behind }), count: () => count };
}

describe("breakableNetwork", () => {
  it("lets no request through while it is offline", async () => {
    const network = countingNetwork();
    network.offline();
    await assert.rejects(network.fetch(url), TypeError);
    network.online();
    assert.equal(await (await network.fetch(url)).text(), "answer");
    assert.equal(network.count(), 1);
  });

  it("loses the same answers for the same seed, after the service has received the request", async () => {
    const lost = async (seed: number) => {
      const network = countingNetwork();
      network.dropAnswers(0.3, { seed });
      const outcomes = [];
      for (let n = 0; n < 200; n++) {
        outcomes.push(
          await network.fetch(url).then(
            () => ".",
            () => "x",
          ),
        );
      }
      assert.equal(network.count(), 200);
      return outcomes.join("");
    };
    const [first, again, other] = [await lost(1), await lost(1), await lost(2)];
    assert.equal(first, again);
    assert.notEqual(first, other);
    const share = first.replaceAll(".", "").length / first.length;
    assert.ok(share > 0.2 && share < 0.4, `${share}`);
  });

  it("aborts a delayed request when its signal aborts", async () => {
    const network = countingNetwork();
    network.latency(3_600_000);
    const stop = new AbortController();
    const request = network.fetch(url, { signal: stop.signal });
    stop.abort(new Error("stopped"));
    await assert.rejects(request, /stopped/);
    assert.equal(network.count(), 0);
  });
});
