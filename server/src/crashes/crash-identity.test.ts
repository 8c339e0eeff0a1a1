// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { processorTime } from "../../test/processor-time.ts";
import { rounds } from "../../test/rounds.ts";
import { identifyCrash } from "./crash-identity.ts";

function fingerprintOf(stackTrace: string): string {
  return identifyCrash(stackTrace, null).fingerprint;
}

interface Bug {
  readonly runtime: string;
  /** Reports of the same bug from other runs, builds and devices. */
  readonly same: readonly string[];
  /** Other bugs: another type of exception, or another top frame. */
  readonly others: readonly string[];
  readonly title: string;
}

const chrome = `TypeError: Cannot read properties of undefined (reading 'name')
    at renderName (https://app.example.com/static/main.3f2a1b9c.js:12:34)
    at async Object.show [as open] (https://app.example.com/static/view.js?v=17:5:6)
    at new Page (webpack:///./src/page.js?1a2b:7:8)
    at https://app.example.com/static/main.3f2a1b9c.js:99:1
    at Array.forEach (<anonymous>)`;
const java = `java.lang.RuntimeException: Unable to start activity 17
\tat com.example.app.MainActivity.onCreate(MainActivity.java:42)
\tat com.example.app.MainActivity$onCreate$1.invoke(Unknown Source:12)
\tat com.example.app.-$$Lambda$MainActivity$abc123.run(Unknown Source:4)
\tat java.base/java.lang.Thread.run(Thread.java:829)
Caused by: java.lang.NullPointerException: Attempt to invoke on com.example.User@1a2b3c4
\tat com.example.app.User.name(User.kt:7)
\t... 12 more`;
const python = `Traceback (most recent call last):
  File "/srv/app-1.2/main.py", line 12, in <module>
    main()
  File "/srv/app-1.2/shop/cart.py", line 34, in total
    return prices[item]
           ~~~~~~^^^^^^
KeyError: 4711`;
const apple = `*** Terminating app due to uncaught exception 'NSInvalidArgumentException', reason: '-[Foo bar]: unrecognized selector sent to instance 0x600000c1e2b0'
0   CoreFoundation                      0x00000001b4c5e8a8 __exceptionPreprocess + 164
1   libobjc.A.dylib                     0x00000001c89c4c50 objc_exception_throw + 60
2   MyApp                               0x0000000104f2c1f4 -[Cart totalOf:] + 52
3   MyApp                               0x0000000104f2c300 $s5MyApp4CartC5total + 120
4   MyApp                               0x0000000104f2c400 Cart.show() (in MyApp) (Cart.swift:12)
5   MyApp                               0x0000000100f2c1f4 0x100e00000 + 1229300`;
const dotnet = `Unhandled exception. System.InvalidOperationException: Sequence contains no elements
   at System.Linq.ThrowHelper.ThrowNoElementsException()
   at Shop.Cart.<>c__DisplayClass4_0.<Total>b__0(Item item) in C:\\src\\Shop\\Cart.cs:line 42
   at Shop.Cart.<Load>d__5.MoveNext() in C:\\src\\Shop\\Cart.cs:line 50
--- End of stack trace from previous location ---
   at Shop.Program.Main(String[] args) in C:\\src\\Shop\\Program.cs:line 9`;
const go = `panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.(*Cart).Total(0xc000012345, 0x2)
\t/home/ada/shop/cart.go:12 +0x1d
main.main.func1(...)
\t/home/ada/shop/main.go:7
created by main.main in goroutine 17
\t/home/ada/shop/main.go:5 +0x25`;
const dart = `Unhandled exception:
FormatException: Invalid radix-10 number (at character 1)
#0      int._handleFormatError (dart:core-patch/integers_patch.dart:131:5)
#1      Cart.total.<anonymous closure> (package:shop/src/cart.dart:12:3)
<asynchronous suspension>
#2      main (package:shop/main.dart:7:5)`;
const native = `signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0
      #00 pc 000000000004f2c1  /data/app/~~a1B2==/com.example-c3D4==/lib/arm64/libshop.so (Cart::total(int)+52) (BuildId: 5f4dcc3b5aa765d61d8327deb882cf99)
      #01 pc 0000000000021f10  /apex/com.android.runtime/lib64/bionic/libc.so (__pthread_start(void*)+164) (BuildId: aa)
      #02 pc 00000000000111ff  /data/app/base.apk!libshop.so (offset 0x1000)`;
const rust = `thread 'main' panicked at src/main.rs:4:5:
   0: std::panicking::begin_panic::h0123456789abcdef
             at /rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/std/src/panicking.rs:616:12
   1: shop::cart::total
             at ./src/cart.rs:12:3`;

const bugs: readonly Bug[] = [
  {
    runtime: "JavaScript of Chrome and Node.js",
    title: "TypeError: Cannot read properties of undefined (reading 'name')",
    same: [
      chrome,
      chrome.replaceAll("3f2a1b9c", "99887766").replaceAll("app.example.com/static", "cdn.example.org/v2/assets"),
      chrome
        .replaceAll(/:\d+:\d+/g, ":1:234567")
        .replaceAll("?v=17", "?v=18&t=5")
        .replaceAll("?1a2b", "?ff00"),
      chrome.replace("reading 'name'", "reading 'id'").replaceAll("https://app.example.com", "file:///C:"),
    ],
    others: [chrome.replace("TypeError", "RangeError"), chrome.replace("renderName", "renderPrice")],
  },
  {
    runtime: "JavaScript of Firefox",
    title: "total@https://shop.example/cart.js:12:3",
    same: [
      "total@https://shop.example/cart.js:12:3\nasync*show/<@https://shop.example/view.js?v=1:4:5\n@https://shop.example/:9:1",
      "total@http://localhost:8080/a/b/cart.js:99:30\nasync*show/<@http://localhost/view.js:4:50\n@http://localhost/:1:1\n",
    ],
    others: ["sum@https://shop.example/cart.js:12:3\nasync*show/<@https://shop.example/view.js:4:5"],
  },
  {
    runtime: "JavaScript of Safari",
    title: "total@https://shop.example/cart.js:12:3",
    same: [
      "total@https://shop.example/cart.js:12:3\nforEach@[native code]\nglobal code@https://shop.example/view.js:4:5",
      "total@capacitor://localhost/cart.js:1:2\nforEach@[native code]\nglobal code@capacitor://localhost/view.js:3:4",
    ],
    others: ["total@https://shop.example/order.js:12:3\nforEach@[native code]\nglobal code@https://x/view.js:4:5"],
  },
  {
    runtime: "Java and Kotlin",
    title: "java.lang.RuntimeException: Unable to start activity 17",
    same: [
      java,
      java
        .replaceAll(/:\d+\)/g, ":1)")
        .replace("1a2b3c4", "ffeeddc")
        .replace("12 more", "31 more"),
      java.replace("activity 17", "activity 18").replace("onCreate$1", "onCreate$2").replace("java.base/", ""),
      java
        .replaceAll(/\([^()]*\)/g, "(SourceFile:3)")
        .replace("$abc123", "$9")
        .replaceAll(".Thread.run(SourceFile:3)", ".Thread.run(Thread.java)"),
    ],
    others: [
      java.replace("java.lang.RuntimeException", "java.lang.IllegalStateException"),
      java.replace("NullPointerException", "ClassCastException"),
      java.replace("MainActivity.onCreate(", "MainActivity.onStart("),
    ],
  },
  {
    runtime: "Python",
    title: "KeyError: 4711",
    same: [
      python,
      python
        .replaceAll("/srv/app-1.2", "C:\\app")
        .replaceAll(/line \d+/g, "line 7")
        .replace("4711", "'id'"),
      python.replaceAll(/^ {11}.*\n/gm, ""),
      python.replaceAll(/^ {4}.*\n/gm, ""),
    ],
    others: [python.replace("KeyError", "requests.exceptions.Timeout"), python.replace("in total", "in sum")],
  },
  {
    runtime: "Swift and Objective-C",
    title:
      "*** Terminating app due to uncaught exception 'NSInvalidArgumentException', reason: '-[Foo bar]: unrecognized selector sent to instance 0x600000c1e2b0'",
    same: [
      apple,
      apple
        .replaceAll(/0x[0-9a-f]{16}/g, "0x00000001ffffffff")
        .replaceAll(/\+ \d+/g, "+ 7")
        .replace("0x600000c1e2b0", "0x1"),
      apple.replace("Cart.swift:12", "Cart.swift:99").replace("0x100e00000 + 1229300", "0x104e00000 + 99"),
    ],
    others: [
      apple.replace("NSInvalidArgumentException", "NSRangeException"),
      apple.replace("-[Cart totalOf:]", "-[Cart sumOf:]"),
    ],
  },
  {
    runtime: ".NET",
    title: "Unhandled exception. System.InvalidOperationException: Sequence contains no elements",
    same: [
      dotnet,
      dotnet
        .replaceAll(/line \d+/g, "line 1")
        .replaceAll("C:\\src", "/home/ada")
        .replaceAll("\n", "\r\n"),
      dotnet.replace("DisplayClass4_0", "DisplayClass12_1").replace("b__0", "b__3").replace("d__5", "d__6"),
      dotnet.replaceAll(/ in C:.*$/gm, ""),
    ],
    others: [dotnet.replace("InvalidOperation", "Argument"), dotnet.replace("ThrowNoElements", "ThrowNoMatch")],
  },
  {
    runtime: "Go",
    title: "panic: runtime error: index out of range [5] with length 3",
    same: [
      go,
      go
        .replace("[5] with length 3", "[0] with length 0")
        .replaceAll("/home/ada", "/build")
        .replaceAll(/\.go:\d+/g, ".go:1"),
      go
        .replace("0xc000012345, 0x2", "...")
        .replaceAll(/ \+0x\w+/g, "")
        .replaceAll(/goroutine \d+/g, "goroutine 99"),
    ],
    others: [
      go.replace("index out of range [5] with length 3", "invalid memory address or nil pointer dereference"),
      go.replace("(*Cart).Total", "(*Cart).Sum"),
    ],
  },
  {
    runtime: "Dart",
    title: "FormatException: Invalid radix-10 number (at character 1)",
    same: [
      dart,
      dart.replaceAll(/:\d+:\d+/g, ":1:1").replace("character 1", "character 9"),
      dart.replaceAll(/ {6}/g, " "),
    ],
    others: [dart.replace("FormatException", "StateError"), dart.replace("_handleFormatError", "parse")],
  },
  {
    runtime: "native code on Android",
    title: "signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0",
    same: [
      native,
      native
        .replaceAll(/pc \w+/g, "pc 0000000000000001")
        .replaceAll(/\+\d+\)/g, "+4)")
        .replace("fault addr 0x0", "fault addr 0x18"),
      native
        .replaceAll(/BuildId: \w+/g, "BuildId: 00")
        .replace("~~a1B2==/com.example-c3D4==", "com.example-1")
        .replace("0x1000", "0x2000"),
    ],
    others: [native.replace("SIGSEGV", "SIGBUS"), native.replace("Cart::total", "Cart::sum")],
  },
  {
    runtime: "Rust",
    title: "0: std::panicking::begin_panic::h0123456789abcdef",
    same: [rust, rust.replace("h0123456789abcdef", "hfedcba9876543210").replaceAll(/\.rs:\d+:\d+/g, ".rs:1:1")],
    others: [rust.replace("begin_panic", "resume_unwind")],
  },
  {
    runtime: "a text without frames",
    title: "request 17 of 3f2504e0-4f89-11d3-9a0c-0305e82c3301 failed at 0x7fff",
    same: [
      "request 17 of 3f2504e0-4f89-11d3-9a0c-0305e82c3301 failed at 0x7fff\nsee /var/log/a.log?x=1",
      "request 18 of aaaaaaaa-4f89-11d3-9a0c-bbbbbbbbbbbb failed at 0x1\n\n  see C:\\log\\a.log",
    ],
    others: ["response 17 of 3f2504e0-4f89-11d3-9a0c-0305e82c3301 failed at 0x7fff\nsee a.log"],
  },
];

// spec/devices#crash-groups
describe("identifyCrash", () => {
  for (const { runtime, same, others, title } of bugs) {
    it(`gives reports of one bug the same fingerprint, and reports of other bugs different ones: ${runtime}`, () => {
      const [first = ""] = same;
      const expected = fingerprintOf(first);
      assert.match(expected, /^[0-9a-f]{32}$/);
      for (const each of same) assert.equal(fingerprintOf(each), expected, each);
      for (const each of same) assert.equal(fingerprintOf(redecorated(each)), expected, "decorated");
      const different = others.map(fingerprintOf);
      assert.equal(new Set([expected, ...different]).size, different.length + 1);
      assert.equal(identifyCrash(first, null).title, title);
    });
  }

  it("treats equal traces of different runtimes as different bugs", () => {
    assert.equal(new Set(bugs.map(({ same: [first = ""] }) => fingerprintOf(first))).size, bugs.length);
  });

  it("ignores the depth of a recursion, direct or mutual", () => {
    const deep = (depth: number, ...names: string[]) =>
      `RangeError: Maximum call stack size exceeded\n${names
        .map((name) => `    at ${name} (a.js:1:2)\n`)
        .join("")
        .repeat(depth)}    at main (a.js:9:9)`;
    for (const names of [["walk"], ["even", "odd"]]) {
      const fingerprints = [2, 5, 29, 30, 500].map((depth) => fingerprintOf(deep(depth, ...names)));
      assert.equal(new Set(fingerprints).size, 1);
    }
    assert.notEqual(fingerprintOf(deep(5, "walk")), fingerprintOf(deep(5, "run")));
  });

  it("reads only the innermost 30 frames, which are the last ones in Python", () => {
    const frames = (from: number) =>
      Array.from({ length: 40 }, (_, n) => `f${String.fromCharCode(97 + (((n + from) % 60) % 26))}${n + from}`);
    const javascript = (end: string) =>
      `Error: x\n${[...frames(0), end].map((name) => `at ${name} (a.js:1:1)`).join("\n")}`;
    assert.equal(fingerprintOf(javascript("a")), fingerprintOf(javascript("b")));
    const lines = (begin: string, end: string) =>
      `${[begin, ...frames(0), end].map((name) => `File "a.py", line 1, in ${name}`).join("\n")}\nValueError: x`;
    assert.equal(fingerprintOf(lines("a", "z")), fingerprintOf(lines("b", "z")));
    assert.notEqual(fingerprintOf(lines("a", "z")), fingerprintOf(lines("a", "y")));
  });

  it("reads the type of an exception's cause, in the format of Node.js", () => {
    const caused = (type: string) => `Error: x\n    at f (a.js:1:1) {\n  [cause]: ${type}: y\n      at g (b.js:1:1)\n}`;
    assert.notEqual(fingerprintOf(caused("Timeout")), fingerprintOf(caused("Refused")));
  });

  it("identifies text that is empty without its numbers by the complete text", () => {
    const texts = ["17", "18", "0x1f", "0x2f", " ", "😀", "😁", "---", "#0", "__proto__", "constructor"];
    assert.equal(new Set(texts.map(fingerprintOf)).size, texts.length);
    assert.equal(fingerprintOf(" 17\r\n"), fingerprintOf("17"));
  });

  it("uses the exception's line, else the message, else the top frame as a title of one short line", () => {
    const frames = "    at a (a.js:1:2)\n    at b (a.js:3:4)";
    assert.equal(identifyCrash(`Error: x\n${frames}`, "y").title, "Error: x");
    assert.equal(identifyCrash(frames, " y\u001b[31m\tz\nmore").title, "y z");
    assert.equal(identifyCrash(frames, null).title, "at a (a.js:1:2)");
    assert.equal(identifyCrash("", null).title, "");
    assert.equal(identifyCrash(`Error: ${"😀".repeat(1_000)}`, null).title, `Error: ${"😀".repeat(249)}`);
  });

  it("takes some milliseconds for any 65,536 characters", () => {
    const length = 65_536;
    const pieces = [
      "a",
      " ",
      "\n",
      "\r",
      "\t",
      "@",
      ":",
      "(",
      ")",
      "0",
      "1:",
      "at ",
      "at (",
      "at a (",
      "at a(",
      "$",
      "$$",
      "$1",
      "/",
      "\\",
      "-",
      "\u001b[",
      "\u001b[1",
      "\u001b[ ",
      "0x",
      " 0x1",
      "0x1 ",
      "#0 ",
      "#00 pc ",
      "#00 pc 1 (",
      "1 a 0x1",
      "1 a",
      ":1",
      ".go:1",
      'File "',
      'File "", line 1',
      '", line 1',
      "Caused by: ",
      "---> ",
      'Exception in thread "',
      "signal 1 (",
      "type '",
      "=>",
      "uncaught exception '",
      "panic: runtime error: ",
      "fatal error: ",
      " in ",
      ":line 1",
      ":in ",
      "::h",
      "a.",
      "a.b-",
      "-12345678",
      "😀",
      "\u0301",
      "12345678-1234-",
      "[native code]",
      "eval at ",
      " [as ",
      "\u2028",
      "[0-9]",
    ];
    for (const piece of pieces) {
      for (const [head, tail] of [
        ["", ""],
        ["at ", ":line 1"],
        ["a@", ":1x"],
        ["Error: ", "!"],
        ["#0 ", ")"],
        ["1 a", " 0x1"],
      ]) {
        const body = piece.repeat(Math.ceil(length / piece.length)).slice(0, length - 20);
        for (const text of [`${head}${body}${tail}`, `${head}${body.slice(0, 900)}${tail}\n`.repeat(70)]) {
          const spentMs = processorTime();
          identifyCrash(text, text);
          const ms = spentMs();
          assert.ok(ms < 500, `${ms} ms for ${JSON.stringify(`${head}${piece}…${tail}`)}`);
        }
      }
    }
  });

  it("never throws, and is deterministic for any input", () => {
    const pieces = fc.constantFrom(
      "at ",
      "(",
      ")",
      "@",
      ":1",
      "\n",
      " ",
      "#0 ",
      "0x1f",
      "a.b",
      "Error",
      ": ",
      "$",
      "\u001b[",
      "😀",
    );
    const texts = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.array(pieces).map((all) => all.join("")),
    );
    fc.assert(
      fc.property(texts, fc.option(texts), (text, message) => {
        const { fingerprint, title } = identifyCrash(text, message);
        assert.match(fingerprint, /^[0-9a-f]{32}$/);
        assert.ok([...title].length <= 256 && title.isWellFormed() && !/[\p{Cc}]/u.test(title));
        assert.deepEqual(identifyCrash(text, message), { fingerprint, title });
      }),
      { numRuns: rounds(500) },
    );
  });
});

/** The same trace as another terminal or another client would send it. */
function redecorated(text: string): string {
  const lines = text.split(/\r?\n/).map((line) => `\u001b[31m \t${line.replaceAll("\t", "    ")} \u001b[0m`);
  return `\r\n\r\n${lines.join("\r\n\r\n")}\r\n`;
}
