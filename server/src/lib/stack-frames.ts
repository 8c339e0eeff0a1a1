/**
 * Reads single lines of stack traces, of whatever runtime. Lines come trimmed, with single spaces, and bounded in length;
 * every pattern here takes a time that grows with the line and not faster.
 */

/**
 * What a line says of where the program was: function and file name, without what varies between two runs, builds and
 * devices (line numbers, addresses, folders, hashes of builds). Undefined for a line that is no frame.
 *
 * @param next the line after it, which tells a frame of Go from other text
 */
export function readFrame(line: string, next: string): string | undefined {
  for (const read of readers) {
    const frame = read(line, next);
    if (frame !== undefined) return frame;
  }
  return undefined;
}

/** True for `File "a.py", line 1, in f`: Python tells the innermost frame last, and shows the source below each. */
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

/** `3 MyApp 0x0000000104f2c1f4 -[Foo bar] + 52`; without symbols the image alone is left. */
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

/** `at …`, as JavaScript of Chrome, Java, Kotlin and .NET have it. */
function readAt(line: string): string | undefined {
  if (!line.startsWith("at ")) return undefined;
  const place = withoutSourceLine(line.slice(3));
  const opening = place.indexOf("(");
  if (opening === -1) return fileOf(place);
  if (place[opening - 1] !== " ") return nameOfMethod(place.slice(0, opening));
  return readNamed(place);
}

/** .NET has ` in C:\src\Foo.cs:line 42` behind a method. */
function withoutSourceLine(place: string): string {
  return /:line \d+$/.test(place) ? place.slice(0, place.lastIndexOf(" in ")) : place;
}

/** A qualified method, without its module and what compilers number. */
function nameOfMethod(text: string): string {
  const name = text.replace(/\$\$Lambda[^.]*/g, "$$$$Lambda"); // which has a slash of its own
  return name
    .slice(name.lastIndexOf("/") + 1)
    .replace(/\$\$[0-9a-f]{6,}/g, "$$$$")
    .replace(/\$\d+/g, "$$")
    .replace(/(Accessor|\$Proxy)\d+/g, "$1")
    .replace(/__(DisplayClass)?\d+(_\d+)?/g, "__$1")
    .replace(/\|\d+_\d+/g, "|");
}

/** `#0 main (package:app/main.dart:12:3)` of Dart, `#0 /www/a.php(12): Foo->bar(1)` of PHP, `#0 0x0 in main ()` of gdb. */
function readNumbered(line: string): string | undefined {
  const [, place] = /^#\d+ (?:0x[0-9a-f]+ in )?(.+)$/.exec(line) ?? [];
  if (place === undefined) return undefined;
  const [, symbol] = /^abs [0-9a-f]+ (?:virt [0-9a-f]+ )?(\S+)/.exec(place) ?? [];
  if (symbol !== undefined) return symbol.replace(/\+0x[0-9a-f]+$/, "");
  const [, file, call = ""] = /^([^()]+)\(\d+\): (.+)$/.exec(place) ?? [];
  if (file !== undefined) return join(call.split("(", 1)[0] ?? "", fileOf(file));
  return readNamed(place);
}

/** `name (location)` */
function readNamed(place: string): string {
  const opening = place.indexOf(" (");
  if (opening === -1) return fileOf(place);
  const closing = place.indexOf(")", opening);
  const location = place.slice(opening + 2, closing === -1 ? undefined : closing);
  const name = place
    .slice(0, opening)
    .replace(/^async /, "")
    .replace(/ \[as [^\]]*\]$/, "");
  return join(name, location.startsWith("eval at ") ? "eval" : fileOf(location));
}

/** `name@https://host/app.js:12:34`, as Firefox and Safari have it. */
function readMozilla(line: string): string | undefined {
  const at = line.indexOf("@");
  if (at === -1 || !/(:\d+|\[native code\])$/.test(line)) return undefined;
  const location = line.slice(at + 1);
  if (location.includes(" ") && !location.endsWith("[native code]")) return undefined;
  return join(line.slice(0, at), fileOf(location));
}

/** A function, and below it where its source is. */
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

/** The name of a file, without its folders, query, position, and the hash that a bundler put into it. */
function fileOf(location: string): string {
  const [path = ""] = location.split(/[?#]/, 1);
  const place = path.replace(/(?::\d+){1,2}$/, "").replace(/^index \d+$/, "index");
  return place
    .slice(Math.max(place.lastIndexOf("/"), place.lastIndexOf("\\")) + 1)
    .replace(/[.-](\w{8,})(?=\.)/g, (hash, digits: string) => (/\d/.test(digits) ? "" : hash));
}

function join(name: string, place: string): string {
  return name === "" ? place : place === "" ? name : `${name} ${place}`;
}
