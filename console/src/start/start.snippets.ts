import { serviceRoot } from "../lib/service-root.ts";
import type { Kind } from "./start.progress.ts";

export interface Step {
  /** The data that the step creates; a batch creates none itself. */
  readonly leaves?: Kind;
  /** The operation whose success is the step. */
  readonly operation: string;
  readonly title: string;
  /** The label in the list of received data. */
  readonly arrived: string;
  readonly lead: string;
  /** The call of the step, for the explorer. */
  readonly example: { readonly path?: string; readonly body?: object };
  readonly text: (appid: string, appkey: string) => string;
}

const json = "-H 'Content-Type: application/json'";

/** Each step in a shell. Later steps use the tokens of earlier ones, so they run in the same shell. */
export const shellSteps: readonly Step[] = [
  {
    leaves: "devices",
    operation: "registerDevice",
    title: "Register a device",
    arrived: "First device",
    lead: "An app does this once, with the id of the application and a key. It gets the token of its device.",
    example: {},
    text: (appid, appkey) =>
      [
        `ROOT=${serviceRoot()}`,
        `token() { answer=$(cat); echo "$answer" >&2`,
        `  echo "$answer" | sed -n 's/.*"accessToken":"\\([^"]*\\)".*/\\1/p'; }`,
        "",
        `DEVICE=$(curl -s $ROOT/devices ${json} -d '{`,
        `  "appid": ${JSON.stringify(appid)},`,
        `  "appkey": ${JSON.stringify(appkey)},`,
        `  "platform": "shell", "appVersion": "1.0"`,
        `}' | token)`,
      ].join("\n"),
  },
  {
    leaves: "users",
    operation: "createUser",
    title: "Sign up a user",
    arrived: "First user",
    lead: "On this device, with a name that is unique in the application. The answer has the token of the user.",
    example: { body: { username: "ada", password: "correct horse" } },
    text: () =>
      [
        `PERSON=$(curl -s $ROOT/users ${json} \\`,
        `  -H "Authorization: Service $DEVICE" \\`,
        `  -d '{"username": "ada.'$(date +%s)'", "password": "correct horse"}' | token)`,
      ].join("\n"),
  },
  {
    leaves: "checkins",
    operation: "createCheckin",
    title: "Check in",
    arrived: "First check-in",
    lead: "As this user, at a place.",
    example: { body: { location: "48.2082,16.3738", comment: "Hello" } },
    text: () =>
      [
        `curl -s $ROOT/checkins ${json} \\`,
        `  -H "Authorization: Service $PERSON" \\`,
        `  -d '{"location": "48.2082,16.3738", "comment": "Hello"}'`,
      ].join("\n"),
  },
  {
    leaves: "events",
    operation: "createMetricEvent",
    title: "Report an event",
    arrived: "First event",
    lead: "As the device, with values to count and to group by.",
    example: { path: "/metrics/events/screen-opened", body: { values: { screen: "map", tiles: 12 } } },
    text: () =>
      [
        `curl -s $ROOT/metrics/events/screen-opened ${json} \\`,
        `  -H "Authorization: Service $DEVICE" \\`,
        `  -d '{"values": {"screen": "map", "tiles": 12}}'`,
      ].join("\n"),
  },
  {
    leaves: "files",
    operation: "createBlob",
    title: "Upload a file",
    arrived: "First file",
    lead: "As this user: any file. Pictures and videos have fields of their own, at /pictures and /videos.",
    example: { body: { friendlyName: "Greeting" } },
    text: () =>
      [
        `echo Hello | curl -s $ROOT/blobs -H "Authorization: Service $PERSON" \\`,
        `  -F 'data=@-;filename=hello.txt' -F friendlyName=Greeting`,
      ].join("\n"),
  },
  {
    operation: "runBatch",
    title: "Several calls in one",
    arrived: "First batch",
    lead: "Up to 200 calls in one request, each with its own answer.",
    example: {
      body: {
        requests: [
          { method: "GET", path: "/users/me" },
          { method: "POST", path: "/checkins", parameters: { location: "48.21,16.37" } },
        ],
      },
    },
    text: () =>
      [
        `curl -s $ROOT/batch ${json} -H "Authorization: Service $PERSON" -d '{"requests": [`,
        `  {"method": "GET", "path": "/users/me"},`,
        `  {"method": "POST", "path": "/checkins", "parameters": {"location": "48.21,16.37"}}`,
        `]}'`,
      ].join("\n"),
  },
];
