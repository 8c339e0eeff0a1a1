import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AbortedError, ConnectionError, RollcallError, ServiceError } from "./errors.ts";

describe("errors of the client", () => {
  it("have the names of their classes and the condition from the wire", () => {
    assert.equal(new ConnectionError("cut").name, "ConnectionError");
    assert.equal(new AbortedError("closed").name, "AbortError");
    const details = { status: 409, errorNumber: 770, requestId: "req_1" };
    const error = new ServiceError("taken", details, "ItemAlreadyExists");
    assert.equal(error.name, "ItemAlreadyExists");
    assert.ok(error.is("ItemAlreadyExists") && !error.is("ItemDoesNotExist"));
  });

  it("are instances of their own class and its base classes only", () => {
    const error = new AbortedError("closed");
    assert.ok(error instanceof AbortedError && error instanceof RollcallError && error instanceof Error);
    assert.ok(!(error instanceof ConnectionError) && !(error instanceof ServiceError));
    assert.ok(!(new Error("other") instanceof RollcallError));
  });

  it("are recognized by the classes of another copy of the package", async () => {
    const copy: typeof import("./errors.ts") = await import(`${new URL("errors.ts", import.meta.url)}?copy`);
    const error = new copy.ConnectionError("cut");
    assert.ok(error instanceof ConnectionError && error instanceof RollcallError);
    assert.ok(!(error instanceof ServiceError));
  });

  it("are not recognized by a class that an app derives", () => {
    class OfTheApp extends RollcallError {}
    assert.ok(!(new ConnectionError("cut") instanceof OfTheApp));
    assert.ok(new OfTheApp("own") instanceof OfTheApp && new OfTheApp("own") instanceof RollcallError);
  });
});
