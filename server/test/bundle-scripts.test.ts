// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { headLine, toScript } from "../../scripts/bundle-scripts.ts";

const map = "\n//# sourceMappingURL=a.js.map\n";
const fileOf = (code: string) => `${headLine}\n${code}${map}`;

/** Evaluates a script with these files. */
function evaluate(script: string, files: Readonly<Record<string, unknown>>): unknown {
  const load = (path: string) => files[path];
  return new Function(`return ${script}`)()(load, async (path: string) => load(path), load, { url: "file:///a.js" });
}

describe("the scripts of a bundle", () => {
  it("import from other files and from packages, and return their exports", async () => {
    const code =
      'import{a,b as c}from"./b.js";import"./c.js";import{d}from"package";var sum=a+c+d,later=()=>import("./b.js");' +
      "export{sum as default,later};";
    const files = { "./b.js": { a: 1, b: 2 }, package: { d: 4 } };
    const exported = evaluate(toScript(fileOf(code), false), files) as { default: number; later(): Promise<unknown> };
    assert.equal(exported.default, 7);
    assert.equal(await exported.later(), files["./b.js"]);
  });

  it("keep the positions of the code", () => {
    const code = 'import{a,b as c}from"./b.js";import"./c.js";var here=()=>import("./d.js");';
    const [, before = ""] = fileOf(code).split("\n");
    const [, after = ""] = toScript(fileOf(code), false).split("\n");
    assert.equal(after.indexOf("var here"), before.indexOf("var here"));
    assert.equal(after.indexOf('("./d.js")'), before.indexOf('("./d.js")'));
  });

  it("must not export a value that changes", () => {
    for (const code of [
      "var count=0;function next(){return count+=1}export{count,next};",
      "var count;function next(){count=1}count=2;export{count};",
      "var count=0;function next(){return++count}export{count as number};",
      "function next(){next=1}export{next};",
    ]) {
      assert.throws(() => toScript(fileOf(code), false), /exported values change: (count|next)/, code);
    }
    toScript(fileOf("var a=0;var b=a==1,c=a=>a,d={};d.a=1;class E{#a=1;}export{a};"), false);
  });

  it("must not contain other forms of imports", () => {
    for (const code of [
      'import a from"package";',
      "var a=import(name);",
      'import*as a from"package";',
      'import a,{b}from"./b.js";',
    ]) {
      assert.throws(() => toScript(fileOf(code), false), /import statement/, code);
    }
  });
});
