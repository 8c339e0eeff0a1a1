import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ItemAlreadyExists, ItemDoesNotExist } from "../generated/errors.ts";
import { nameClass } from "./error-classes.ts";
import { AbortedError, ConnectionError, RollcallError, ServiceError, SessionEnded, TimeoutError } from "./errors.ts";

describe("errors of the client", () => {
  it("have the names of their classes and the condition from the wire", () => {
    assert.equal(new ConnectionError("cut").name, "ConnectionError");
    assert.equal(new AbortedError("closed").name, "AbortError");
    const details = { status: 409, errorNumber: 770, requestId: "req_1" };
    const error = new (nameClass("ItemAlreadyExists"))("taken", details);
    assert.equal(error.name, "ItemAlreadyExists");
    assert.ok(error.is("ItemAlreadyExists") && !error.is("ItemDoesNotExist"));
    assert.ok(error instanceof ItemAlreadyExists && error instanceof ServiceError);
    assert.ok(!(error instanceof ItemDoesNotExist));
  });

  it("have classes with their own names, of which there is one for each name", () => {
    assert.equal(ItemAlreadyExists.name, "ItemAlreadyExists");
    assert.equal(nameClass("ItemAlreadyExists"), ItemAlreadyExists);
    assert.equal(nameClass("NewInALaterVersion").name, "NewInALaterVersion");
    assert.equal(new AbortedError("closed").constructor.name, "AbortedError");
    for (const type of [RollcallError, ServiceError, ConnectionError, TimeoutError, SessionEnded])
      assert.equal(new RegExp(`class ${type.name} `).test(`${type}`), true);
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
    for (const value of [undefined, null, {}, Object.create(null), Error, "ConnectionError"])
      assert.ok(!((value as unknown) instanceof ConnectionError));
  });

  it("are not recognized by a class that an app derives", () => {
    class OfTheApp extends RollcallError {}
    assert.ok(!(new ConnectionError("cut") instanceof OfTheApp));
    assert.ok(new OfTheApp("own") instanceof OfTheApp && new OfTheApp("own") instanceof RollcallError);
    const SameName = { ConnectionError: class ConnectionError extends RollcallError {} }.ConnectionError;
    assert.ok(!(new SameName("own") instanceof ConnectionError) && !(new ConnectionError("cut") instanceof SameName));
  });
});
