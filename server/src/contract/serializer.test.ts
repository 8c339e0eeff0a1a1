// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Type } from "./schema.ts";
import { createSerializer } from "./serializer.ts";

const Item = Type.Object({ id: Type.String(), size: Type.Optional(Type.Number()) });
const serialize = createSerializer(Type.Object({ items: Type.Array(Item), item: Type.Optional(Item) }));

describe("createSerializer", () => {
  it("omits undeclared properties at every depth", () => {
    const secret = { password_hash: "secret", toJSON: undefined, __proto__: { inherited: "secret" } };
    const result = { items: [{ id: "a", size: 1, ...secret }], item: { id: "b", ...secret }, ...secret };
    assert.equal(serialize(result), '{"items":[{"id":"a","size":1}],"item":{"id":"b"}}');
  });

  it("omits optional properties that are undefined, and throws for a required one", () => {
    assert.equal(serialize({ items: [{ id: "a", size: undefined }], item: undefined }), '{"items":[{"id":"a"}]}');
    for (const result of [{}, { items: [{}] }, { items: [{ id: undefined }] }, { items: [], item: {} }]) {
      assert.throws(() => serialize(result), /has no (items|id)/);
    }
  });

  it("writes any string so that parsing returns it unchanged", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("__proto__", "\u2028", "</script>", "\0", "😀"),
    );
    const size = fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0); // JSON has no -0
    fc.assert(
      fc.property(fc.array(fc.record({ id: text, size }, { noNullPrototype: true })), (items) => {
        assert.deepEqual(JSON.parse(serialize({ items })), { items });
      }),
    );
  });

  it("inserts raw JSON unchanged, and prunes around it", () => {
    const raw = Type.Unsafe<string>({ "x-raw": true });
    const Raw = Type.Object({ id: Type.String(), value: raw, more: Type.Optional(raw), item: Type.Optional(Item) });
    const write = createSerializer(Type.Object({ items: Type.Array(Raw), count: Type.Optional(Type.Number()) }));
    const values = ["1", '"a"', "[ 12345678901234567890 ]", '{"secret":"kept"}', "null"];
    const items = values.map((value) => ({ id: '"', value, secret: "lost", item: { id: "b", secret: "lost" } }));
    const expected = values.map((value) => `{"id":"\\"","value":${value},"item":{"id":"b"}}`);
    assert.equal(write({ items, secret: "lost" }), `{"items":[${expected}]}`);
    assert.equal(
      write({ items: [{ id: "a", value: "1", more: "[]" }], count: 1 }),
      '{"items":[{"id":"a","value":1,"more":[]}],"count":1}',
    );
    assert.equal(write({ items: [] }), '{"items":[]}');
    assert.throws(() => write({ items: [{ id: "a" }] }), /has no value/);
    const Optional = Type.Object({ value: Type.Optional(raw) });
    assert.equal(createSerializer(Optional)({}), "{}");
  });

  it("writes results that are not objects", () => {
    assert.equal(createSerializer(Type.Literal(1))(1), "1");
    assert.equal(createSerializer(Type.Literal("Pong"))("Pong"), '"Pong"');
    assert.equal(createSerializer(Type.String())('a "text"'), '"a \\"text\\""');
    assert.equal(createSerializer(Type.Array(Type.Boolean()))([true, false]), "[true,false]");
  });
});
