/**
 * Reads single lines of stack traces of any runtime. Lines must be trimmed, with single spaces and a bounded length;
 * every pattern takes linear time.
 */

/**
 * Reads the frame in a line: function and file name, without the parts that vary between runs, builds and devices (line
 * numbers, addresses, folders, build hashes). Returns undefined for other lines.
 *
 * @param next the following line, which distinguishes a Go frame from other text
 */
export function readFrame(line: string, next: string): string | undefined {
  for (const read of readers) {
    const frame = read(line, next);
    if (frame !== undefined) return frame;
  }
  return undefined;
}

/**
 * Whether the line is a frame such as `File "a.py", line 1, in f`. Python prints the innermost frame last, and the
 * source below each frame.
 */
export function isPythonFrame(line: string): boolean {
  return pythonFrame.test(line);
}

const pythonFrame = /^File "(.*?)", line \d+(?:, in (.*))?$/;

const readers: readonly ((line: string, next: string) => string | undefined)[] = [
  readPython,
  readNative,
  readApple,
  readAt,
  readNumbered,
  readMozilla,
  readGo,
  readRust,
  readRuby,
];

function readPython(line: string): string | undefined {
  const [, file, name = ""] = pythonFrame.exec(line) ?? [];
  return file === undefined ? undefined : join(name, fileOf(file));
}

/** Android's tombstones: `#00 pc 000000000004f2c1 /system/lib64/libc.so (abort+164) (BuildId: …)` */
function readNative(line: string): string | undefined {
  const [, rest] = /^#\d+ pc [0-9a-f]+ (.+)$/i.exec(line) ?? [];
  if (rest === undefined) return undefined;
  const [library = "", ...notes] = rest.split(" (");
  const symbol = notes.find((note) => !/^(BuildId|offset)\b/.test(note)) ?? "";
  return join(
    symbol.replace(/\)$/, "").replace(/\+(0x)?[0-9a-f]+$/i, ""),
    fileOf(library.replace(/[0-9a-f]{8,}/gi, "")),
  );
}

/** `3 MyApp 0x0000000104f2c1f4 -[Foo bar] + 52`; without symbols, only the image remains. */
function readApple(line: string): string | undefined {
  const [, image, rest] = /^\d+ (\S.*?) 0x[0-9a-f]+ (.+)$/i.exec(line) ?? [];
  if (image === undefined || rest === undefined) return undefined;
  const symbol = rest
    .replace(/ \([^() ]*:\d+\)$/, "")
    .replace(/ \+ \d+$/, "")
    .replace(/ \(in [^()]*\)$/, "")
    .replace(/_block_invoke_\d+/g, "_block_invoke");
  return join(/^0x[0-9a-f]+$/i.test(symbol) ? "" : symbol, image);
}

/** `at …`: JavaScript in Chrome, Java, Kotlin and .NET. */
function readAt(line: string): string | undefined {
  if (!line.startsWith("at ")) return undefined;
  const position = withoutSourceLine(line.slice(3));
  const opening = position.indexOf("(");
  if (opening === -1) return fileOf(position);
  if (position[opening - 1] !== " ") return nameOfMethod(position.slice(0, opening));
  return readNamed(position);
}

/** .NET appends ` in C:\src\Foo.cs:line 42` to a method. */
function withoutSourceLine(position: string): string {
  return /:line \d+$/.test(position) ? position.slice(0, position.lastIndexOf(" in ")) : position;
}

/** Returns a qualified method without its module and compiler-generated numbers. */
function nameOfMethod(text: string): string {
  const name = text.replace(/\$\$Lambda[^.]*/g, "$$$$Lambda"); // the original contains a slash
  return name
    .slice(name.lastIndexOf("/") + 1)
    .replace(/\$\$[0-9a-f]{6,}/g, "$$$$")
    .replace(/\$\d+/g, "$$")
    .replace(/(Accessor|\$Proxy)\d+/g, "$1")
    .replace(/__(DisplayClass)?\d+(_\d+)?/g, "__$1")
    .replace(/\|\d+_\d+/g, "|");
}

/**
 * `#0 main (package:app/main.dart:12:3)` in Dart, `#0 /www/a.php(12): Foo->bar(1)` in PHP, `#0 0x0 in main ()` in gdb.
 */
function readNumbered(line: string): string | undefined {
  const [, position] = /^#\d+ (?:0x[0-9a-f]+ in )?(.+)$/.exec(line) ?? [];
  if (position === undefined) return undefined;
  const [, symbol] = /^abs [0-9a-f]+ (?:virt [0-9a-f]+ )?(\S+)/.exec(position) ?? [];
  if (symbol !== undefined) return symbol.replace(/\+0x[0-9a-f]+$/, "");
  const [, file, call = ""] = /^([^()]+)\(\d+\): (.+)$/.exec(position) ?? [];
  if (file !== undefined) return join(call.split("(", 1)[0] ?? "", fileOf(file));
  return readNamed(position);
}

/** `name (location)` */
function readNamed(position: string): string {
  const opening = position.indexOf(" (");
  if (opening === -1) return fileOf(position);
  const closing = position.indexOf(")", opening);
  const location = position.slice(opening + 2, closing === -1 ? undefined : closing);
  const name = position
    .slice(0, opening)
    .replace(/^async /, "")
    .replace(/ \[as [^\]]*\]$/, "");
  return join(name, location.startsWith("eval at ") ? "eval" : fileOf(location));
}

/** `name@https://host/app.js:12:34`: Firefox and Safari. */
function readMozilla(line: string): string | undefined {
  const at = line.indexOf("@");
  if (at === -1 || !/(:\d+|\[native code\])$/.test(line)) return undefined;
  const location = line.slice(at + 1);
  if (location.includes(" ") && !location.endsWith("[native code]")) return undefined;
  return join(line.slice(0, at), fileOf(location));
}

/** Reads a function whose source position is in the next line. */
function readGo(line: string, next: string): string | undefined {
  if (!/\.(go|s|c):\d+( \+0x[0-9a-f]+)?$/.test(next) || isGoSource(line)) return undefined;
  const name = line.replace(/ in goroutine \d+$/, "");
  return name.endsWith(")") ? name.slice(0, name.lastIndexOf("(")) : name;
}

function isGoSource(line: string): boolean {
  return /\.(go|s|c):\d+( \+0x[0-9a-f]+)?$/.test(line);
}

/** `12: core::panicking::panic::h0123456789abcdef` */
function readRust(line: string, next: string): string | undefined {
  const [, name] = /^\d+: (?:0x[0-9a-f]+ - )?(\S.*)$/.exec(line) ?? [];
  if (name === undefined || !(name.includes("::") || next.startsWith("at "))) return undefined;
  return name.replace(/::h[0-9a-f]{16}$/, "");
}

/** `from /app/a.rb:12:in 'foo'` */
function readRuby(line: string): string | undefined {
  const start = line.startsWith("from ") ? 5 : 0;
  const end = line.indexOf(":in ");
  if (end === -1 || !/\.rb:\d+$/.test(line.slice(start, end))) return undefined;
  const [, name = ""] = /^[`']([^']*)'/.exec(line.slice(end + 4)) ?? [];
  return join(name, fileOf(line.slice(start, end)));
}

/** Returns the name of a file, without its folders, query, position and bundler hash. */
function fileOf(location: string): string {
  const [path = ""] = location.split(/[?#]/, 1);
  const position = path.replace(/(?::\d+){1,2}$/, "").replace(/^index \d+$/, "index");
  return position
    .slice(Math.max(position.lastIndexOf("/"), position.lastIndexOf("\\")) + 1)
    .replace(/[.-](\w{8,})(?=\.)/g, (hash, digits: string) => (/\d/.test(digits) ? "" : hash));
}

function join(name: string, position: string): string {
  return name === "" ? position : position === "" ? name : `${name} ${position}`;
}

const linesMax = 1_000;
const lineCharactersMax = 1_000;

/**
 * Returns the lines of a stack trace, from 0, that are frames of the app's code and not of the system, a library or a
 * runtime, which are recognized by their usual names and folders.
 */
export function listAppFrames(stackTrace: string): number[] {
  const lines = stackTrace.split("\n", linesMax).map((line) => line.slice(0, lineCharactersMax).trim());
  return lines.flatMap((line, index) => {
    const isFrame = readFrame(line.replaceAll(/\s+/g, " "), lines[index + 1] ?? "") !== undefined;
    return isFrame && !system.some((pattern) => pattern.test(line)) ? [index] : [];
  });
}

const system: readonly RegExp[] = [
  // Java and Kotlin
  /^at (?:java|javax|jdk|sun|kotlin|kotlinx|android|androidx|dalvik|com\.android|com\.google\.android|libcore)\./,
  // Android's native code and other system libraries
  /^#\d+ pc [0-9a-f]+ \/?(?:system|apex|vendor|product)\//i,
  // Apple's images
  /^\d+ +(?:lib[\w.+-]+\.dylib|libsystem_\w+|dyld|(?:UIKit|SwiftUI|Foundation|Core|AppKit|CFNetwork|Graphics|QuartzCore|Network)\w*|\?\?\?) /,
  // JavaScript
  /\bnode:internal\/|\(node:|at node:|\/node_modules\/|\[native code\]|<anonymous>\)?$/,
  // Python
  /^File "[^"]*(?:\/(?:site|dist)-packages\/|\/lib\/python\d[\d.]*\/|<frozen )/,
  // .NET
  /^at (?:System|Microsoft|Mono|Xamarin|UnityEngine|UnityEditor)\./,
  // Dart and Flutter
  /\((?:dart:|package:flutter\/)/,
  // Go, Rust and Ruby
  /\/(?:usr\/local\/go|go\/pkg\/mod|rustc\/[0-9a-f]+|\.cargo\/registry|gems)\//,
  /^\d+: (?:std|core|alloc|backtrace|rust_begin_unwind|__rust)\b/,
];
