/** A line of a stack trace. */
export interface TraceLine {
  readonly text: string;
  /** Of the app, of a library or the system, or no frame at all, such as the message. */
  readonly kind: "app" | "library" | "text";
}

/** The beginnings of frames: JavaScript, the JVM and .NET; Swift and Objective-C; Python; Dart. */
const frame = /^\s*(at |#?\d+\s{1,6}\S|File "|[\w$.<>]*@\S+:\d+)/;

/** Names that do not belong to an app: modules of runtimes, systems and packages, as their traces show them. */
const library = new RegExp(
  [
    String.raw`\bnode:|node_modules[/\\]|\breact-dom\b|\[native code\]|<anonymous>:\d|\bdart:|\bpackage:flutter/`,
    String.raw`\b(javax?|sun|jdk|android|androidx|dalvik|kotlinx?|com\.android|com\.google\.android|okhttp3|scala)\.`,
    String.raw`\b(UIKit(Core)?|Foundation|CoreFoundation|GraphicsServices|SwiftUI|AttributeGraph|QuartzCore|libsystem\w*|libdispatch\w*|libobjc\w*|libswift\w*|dyld)\b`,
    String.raw`\b(System|Microsoft|Mono)\.\w|site-packages|dist-packages|lib[/\\]python\d|<frozen `,
  ].join("|"),
);

/** The lines of a stack trace, with the frames of the app set apart. */
export function linesOf(stackTrace: string): readonly TraceLine[] {
  return stackTrace
    .replaceAll("\t", "    ")
    .split(/\r?\n/)
    .map((text) => ({ text, kind: !frame.test(text) ? "text" : library.test(text) ? "library" : "app" }));
}

/** The same with each run of library frames as one line that counts them. */
export function foldLibraries(lines: readonly TraceLine[]): readonly TraceLine[] {
  const folded: TraceLine[] = [];
  let hidden = 0;
  const endRun = () => {
    if (hidden > 0) folded.push({ text: `    … ${hidden} of libraries`, kind: "library" });
    hidden = 0;
  };
  for (const line of lines) {
    if (line.kind === "library") hidden += 1;
    else {
      endRun();
      folded.push(line);
    }
  }
  endRun();
  return folded;
}
