import assert from "node:assert/strict";
import { describe, it } from "node:test";
import Fastify from "fastify";
import { allowAnyOrigin, allowedOrigin, setOrigin } from "./cors.ts";
import type { Caller } from "./route.ts";

const ours = "https://app.example";

describe("the origins whose pages may read an answer", () => {
  it("are all of them where an application names none", () => {
    for (const origin of [ours, "null", undefined]) {
      assert.equal(allowedOrigin(origin, {}), "*");
      assert.equal(allowedOrigin(origin, { origins: undefined }), "*");
    }
  });

  it("are else those that it names, to the letter", () => {
    const policy = { origins: new Set([ours, "http://localhost:3000"]) };
    for (const origin of policy.origins) assert.equal(allowedOrigin(origin, policy), origin);
    for (const origin of [
      ...[undefined, "", "null", "*", "http://app.example", "https://app.example:8443", "https://app.example/"],
      ...["https://app.example.evil.example", "https://evil-app.example", "https://APP.example", `${ours}, ${ours}`],
    ]) {
      assert.equal(allowedOrigin(origin, policy), undefined, `${origin}`);
    }
  });

  it("are none where it names an empty list", () => {
    assert.equal(allowedOrigin(ours, { origins: new Set() }), undefined);
  });
});

describe("the headers of an answer", () => {
  /** What a page of this origin gets when this is the caller. */
  async function headersFor(caller: Partial<Caller> | undefined, origin?: string) {
    const server = Fastify();
    server.get("/", (request, reply) => {
      allowAnyOrigin(reply, request);
      request.caller = caller as Caller | undefined; // of it nothing but the policy is looked at
      setOrigin(reply, request);
      return "";
    });
    const { headers } = await server.inject({ url: "/", headers: origin === undefined ? {} : { origin } });
    const { vary, "access-control-allow-origin": allowed, "access-control-expose-headers": exposed } = headers;
    return { vary, allowed, isExposed: exposed !== undefined };
  }
  const policy = { origins: new Set([ours]) };

  it("are for everybody while nothing is known of an application, and where it says nothing", async () => {
    for (const caller of [undefined, {}, { policy: {} }]) {
      assert.deepEqual(await headersFor(caller, ours), { vary: undefined, allowed: "*", isExposed: true });
    }
  });

  it("are for a named origin alone, and caches are told so", async () => {
    assert.deepEqual(await headersFor({ policy }, ours), { vary: "Origin", allowed: ours, isExposed: true });
  });

  it("are for nobody else", async () => {
    for (const origin of ["https://other.example", "null", undefined]) {
      assert.deepEqual(await headersFor({ policy }, origin), { vary: "Origin", allowed: undefined, isExposed: false });
    }
  });
});
