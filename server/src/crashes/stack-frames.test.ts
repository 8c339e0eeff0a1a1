import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listAppFrames } from "./stack-frames.ts";

const traces: Readonly<Record<string, readonly [trace: string, frames: readonly number[]]>> = {
  Java: [
    [
      "java.lang.IllegalStateException: no session",
      "\tat com.example.notes.Session.require(Session.kt:41)",
      "\tat android.os.Handler.dispatchMessage(Handler.java:102)",
      "\tat androidx.compose.ui.Node.click(Node.kt:7)",
      "Caused by: java.io.IOException",
      "\tat com.example.notes.Net.open(Net.kt:9)",
    ].join("\n"),
    [1, 5],
  ],
  JavaScript: [
    [
      "TypeError: x is not a function",
      "    at Screen.onPress (/app/src/screen.js:12:3)",
      "    at callback (/app/node_modules/react/index.js:1:2)",
      "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)",
    ].join("\n"),
    [1],
  ],
  Apple: [
    [
      "3   Notes       0x0000000104f2c1f4 -[Session require] + 52",
      "4   UIKitCore   0x00000001a5e0c2d4 -[UIApplication sendAction:] + 96",
      "5   libdispatch.dylib 0x00000001801c2de4 _dispatch_main + 20",
    ].join("\n"),
    [0],
  ],
  Python: [
    [
      "Traceback (most recent call last):",
      '  File "/srv/app/main.py", line 3, in main',
      '  File "/usr/lib/python3.12/json/decoder.py", line 355, in raw_decode',
      '  File "/srv/venv/lib/python3.12/site-packages/requests/api.py", line 59, in request',
      "ValueError: no",
    ].join("\n"),
    [1],
  ],
  Dart: ["#0 Note.open (package:notes/note.dart:4:5)\n#1 State.build (package:flutter/src/widgets.dart:1:2)", [0]],
  ".NET": ["   at Notes.Session.Require() in C:\\src\\Session.cs:line 4\n   at System.Threading.Tasks.Task.Run()", [0]],
};

describe("frames of the app", () => {
  for (const [runtime, [trace, frames]] of Object.entries(traces)) {
    it(`are distinguished from frames of the system and of libraries in ${runtime}`, () => {
      assert.deepEqual(listAppFrames(trace), frames);
    });
  }

  it("are not found in text without frames, and searched only in the first lines of long text", () => {
    assert.deepEqual(listAppFrames("something happened"), []);
    assert.equal(listAppFrames("    at a (/app/a.js:1:1)\n".repeat(5_000)).length, 1_000);
  });
});
