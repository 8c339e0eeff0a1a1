// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import createRouter from "find-my-way";
import { createPathTree, readPath } from "./route-table.ts";

const paths = [
  "/",
  "/users",
  "/users/me",
  "/users/me/keys",
  "/users/{userId}",
  "/users/{id}/files",
  "/users/{id}/files/{fileId}",
  "/users/{id}/files/latest",
  "/files/{name}",
  "/files/{name}/x.json",
  "/{noun}/me/keys/{key}",
  "/pages",
  "/pages/*",
];
const parameterCharsMax = 12;

function newTree(declared: readonly string[] = paths) {
  const tree = createPathTree<string>(parameterCharsMax);
  for (const path of declared) tree.add(path, path);
  return (url: string) => {
    const read = readPath(url);
    if (read === undefined) return "broken";
    const found = tree.find(read.path, read.isEscaped);
    return found && { target: found.target, parameters: { ...found.parameters }, query: read.query };
  };
}

/** The same routes in the router that other servers use. */
function newReference() {
  const router = createRouter({
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    maxParamLength: parameterCharsMax,
    querystringParser: (query) => ({ query }),
    onBadUrl: () => {},
  });
  for (const path of paths) router.on("GET", path.replaceAll(/\{(\w+)\}/g, ":$1"), () => {}, path);
  return (url: string) => {
    const found = router.find("GET", url);
    if (found === null) return undefined;
    if (found.store === null) return "broken";
    return { target: found.store, parameters: { ...found.params }, query: found.searchParams["query"] };
  };
}

// spec/transport#paths-and-verbs
describe("Paths of routes", () => {
  it("a fixed segment takes precedence over a parameter, and a parameter over the rest of the path", () => {
    const find = newTree(["/a/b", "/a/{x}", "/a/{x}/c", "/{y}/b/c", "/*"]);
    const targetOf = (url: string) => {
      const found = find(url);
      return typeof found === "object" ? [found.target, found.parameters] : found;
    };
    assert.deepEqual(targetOf("/a/b"), ["/a/b", {}]);
    assert.deepEqual(targetOf("/a/bb"), ["/a/{x}", { x: "bb" }]);
    assert.deepEqual(targetOf("/a/b/c"), ["/a/{x}/c", { x: "b" }]);
    assert.deepEqual(targetOf("/z/b/c"), ["/{y}/b/c", { y: "z" }]);
    assert.deepEqual(targetOf("/a/b/d"), ["/*", { "*": "a/b/d" }]);
  });

  it("an escaped slash is part of a parameter, and an escaped letter equals the letter", () => {
    const find = newTree();
    assert.deepEqual(find("/users/a%2Fb%25/%66iles?x=%2F"), {
      target: "/users/{id}/files",
      parameters: { id: "a/b%" },
      query: "x=%2F",
    });
    assert.equal(find("/users%2Fme"), undefined);
  });

  it("an invalid escape or URL is distinguished from an unknown path", () => {
    const find = newTree();
    for (const url of [
      "/users/%zz",
      "/nowhere/%ff",
      "http://",
      "http:///users",
      "https://a/users#b",
      "http://a:b/users",
    ]) {
      assert.equal(find(url), "broken", url);
    }
    for (const url of ["/nowhere/at/all", "users", "ftp://a/users", "http://a/nowhere/at/all"]) {
      assert.equal(find(url), undefined, url);
    }
  });

  it("properties that every object inherits are not parameters", () => {
    const tree = createPathTree<string>(parameterCharsMax);
    tree.add("/a/{x}", "");
    const parameters = tree.find("/a/b", false)?.parameters ?? {};
    assert.equal("constructor" in parameters || "toString" in parameters, false);
  });

  it("every URL leads to the same route and parameters as in find-my-way", () => {
    const find = newTree();
    const findInReference = newReference();
    const part = fc.oneof(
      fc.constantFrom(
        "users",
        "me",
        "keys",
        "files",
        "latest",
        "x.json",
        "pages",
        "m",
        "mee",
        "constructor",
        "*",
        ":id",
      ),
      fc.constantFrom(
        "users",
        "me",
        "files",
        "latest",
        "pages",
        "%66iles",
        "a%2Fb",
        "%25",
        "%2525",
        "%c3%a4",
        "%3Fa",
        "a%23",
      ),
      fc.constantFrom("%2f", "%zz", "%ff", "%", "ä", "a b", "..", ";"),
      fc.string({ maxLength: 14 }),
    );
    const separator = fc.constantFrom("/", "/", "/", "//", "///");
    const url = fc
      .tuple(
        fc.constantFrom("", "", "", "", "", "", "", "http://a.example", "HTTPS://a:1", "http://[::1]", "http://a:b"),
        fc.array(fc.tuple(separator, part), { maxLength: 6 }),
        fc.constantFrom("", "", "/", "//", "?a=1/2", "/?b", "#c", "?a#b", "#a?b", ";a=1"),
      )
      .map(([origin, parts, end]) => `${origin}${parts.flat().join("")}${end}`)
      .filter((url) => url.startsWith("/") || /^https?:/i.test(url));
    fc.assert(
      fc.property(url, (url) => assert.deepEqual(find(url), findInReference(url))),
      { numRuns: 2000 },
    );
  });
});
