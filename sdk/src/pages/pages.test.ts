import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CallOptions, Sent } from "../transport/options.ts";
import { createPages, type WirePage } from "./pages.ts";

/** A listing of the numbers from 0 up to `count`, three on a page. */
function listing(count: number) {
  const requests: string[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  const fetchPage = (token: string | undefined, { signal }: CallOptions): Sent<WirePage<number>> => {
    requests.push(token ?? "first");
    signals.push(signal);
    const start = Number(token ?? 0);
    const page = {
      pageResults: Array.from({ length: Math.min(3, count - start) }, (_, index) => start + index),
      currentToken: `${start}`,
      ...(start + 3 < count && { nextToken: `${start + 3}` }),
      ...(start > 0 && { previousToken: `${start - 3}` }),
    };
    const meta = { status: 200, requestId: "req_1", replayed: false, attempts: 1, durationMs: 1 };
    return Object.assign(Promise.resolve(page), { meta: Promise.resolve(meta) });
  };
  return { fetchPage, requests, signals };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

describe("a list", () => {
  it("sends one request, and only once it is awaited", async () => {
    const { fetchPage, requests } = listing(7);
    const pages = createPages(fetchPage);
    assert.deepEqual(requests, []);
    const page = await pages;
    assert.equal((await pages).tokens.current, "0");
    assert.deepEqual(requests, ["first"]);
    assert.deepEqual(page.items, [0, 1, 2]);
    assert.equal(await page.previous(), undefined);
    const second = await page.next();
    assert.deepEqual([second?.items, second?.tokens], [[3, 4, 5], { current: "3", next: "6", previous: "0" }]);
    assert.deepEqual((await second?.previous())?.items, [0, 1, 2]);
    assert.equal(await (await second?.next())?.next(), undefined);
  });

  it("is a promise of its first page", async () => {
    const { fetchPage, requests } = listing(7);
    const pages: Promise<{ readonly items: readonly number[] }> = createPages(fetchPage);
    assert.ok(pages instanceof Promise);
    const ended: string[] = [];
    const first = await pages.finally(() => ended.push("finally"));
    assert.deepEqual([first.items, ended, requests], [[0, 1, 2], ["finally"], ["first"]]);
    assert.deepEqual(await Promise.all([pages, Promise.resolve(pages)]), [first, first]);
    const failing = createPages((): Sent<WirePage<number>> => {
      throw new Error("lost");
    });
    assert.equal(await failing.catch((error: Error) => error.message), "lost");
    await assert.rejects(failing, /lost/);
    await assert.rejects(failing.all(), /lost/);
  });

  it("returns the items of all pages as one array, up to the limit", async () => {
    const { fetchPage, requests } = listing(7);
    assert.deepEqual(await createPages(fetchPage).all(), [0, 1, 2, 3, 4, 5, 6]);
    assert.equal(requests.length, 3);
    assert.deepEqual(await createPages(fetchPage, { limit: 2 }).all(), [0, 1]);
  });

  it("returns the items of all pages each time it is iterated", async () => {
    const { fetchPage, requests } = listing(7);
    const pages = createPages(fetchPage);
    assert.deepEqual(await collect(pages), [0, 1, 2, 3, 4, 5, 6]);
    assert.deepEqual(await collect(pages), [0, 1, 2, 3, 4, 5, 6]);
    assert.equal(requests.length, 6);
    assert.deepEqual(
      (await collect(pages.pages())).map(({ items }) => items.length),
      [3, 3, 1],
    );
  });

  it("loads at most one page ahead, and aborts that request when the caller exits the loop", async () => {
    const { fetchPage, requests, signals } = listing(100);
    for await (const item of createPages(fetchPage)) {
      if (item === 1) break;
    }
    assert.deepEqual(requests, ["first", "3"]);
    assert.ok(signals.every((signal) => signal?.aborted));
  });

  it("stops after the maximum number of items", async () => {
    const { fetchPage } = listing(100);
    assert.deepEqual(await collect(createPages(fetchPage, { limit: 4 })), [0, 1, 2, 3]);
    assert.deepEqual(await collect(createPages(fetchPage, { limit: 0 })), []);
  });
});
