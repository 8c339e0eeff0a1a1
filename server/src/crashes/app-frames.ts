import { readFrame } from "./stack-frames.ts";

const linesMax = 1_000;
const lineCharactersMax = 1_000;

/**
 * The lines of a stack trace, from 0, that are frames of the app's own code: frames that neither the system nor a
 * library or a runtime has. Recognizes both by their usual names and folders alone.
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
  // Android's native code and other libraries of a system
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
