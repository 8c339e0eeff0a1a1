import { serviceRoot } from "../lib/service-root.ts";

export interface Step {
  readonly done: "devices" | "users" | "checkins";
  /** The operation whose success is the step, and the status of that success. */
  readonly operation: string;
  readonly title: string;
  readonly arrived: string;
  readonly lead: string;
  readonly text: (appid: string, appkey: string) => string;
}

const json = "-H 'Content-Type: application/json'";

/** Each step in a shell. Later steps use the tokens of earlier ones, so they run in the same shell. */
export const shellSteps: readonly Step[] = [
  {
    done: "devices",
    operation: "registerDevice",
    title: "Register a device",
    arrived: "First device",
    lead: "An app does this once, with the id of the application and a key. It gets the token of its device.",
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
    done: "users",
    operation: "createUser",
    title: "Sign up a user",
    arrived: "First user",
    lead: "On this device, with a name that is unique in the application. The answer has the token of the user.",
    text: () =>
      [
        `PERSON=$(curl -s $ROOT/users ${json} \\`,
        `  -H "Authorization: Service $DEVICE" \\`,
        `  -d '{"username": "ada.'$(date +%s)'", "password": "correct horse"}' | token)`,
      ].join("\n"),
  },
  {
    done: "checkins",
    operation: "createCheckin",
    title: "Check in",
    arrived: "First check-in",
    lead: "As this user, at a place.",
    text: () =>
      [
        `curl -s $ROOT/checkins ${json} \\`,
        `  -H "Authorization: Service $PERSON" \\`,
        `  -d '{"location": "48.2082,16.3738", "comment": "Hello"}'`,
      ].join("\n"),
  },
];

/** The same in one file, in another language. */
export interface Program {
  /** In the address. */
  readonly id: string;
  readonly language: string;
  readonly lead: string;
  readonly text: (appid: string, appkey: string) => string;
}

export const programs: readonly Program[] = [
  {
    id: "client",
    language: "JavaScript",
    lead: "The client library registers the device by itself, keeps users signed in and repeats what the network loses.",
    text: clientSnippet,
  },
  {
    id: "python",
    language: "Python",
    lead: "Plain HTTP with what Python brings along. Another language does the same three calls.",
    text: pythonSnippet,
  },
];

function pythonSnippet(appid: string, appkey: string): string {
  return `import json, time, urllib.request

ROOT = ${JSON.stringify(serviceRoot())}


def call(path, body, token=None):
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = "Service " + token
    request = urllib.request.Request(ROOT + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["result"]


app = {"appid": ${JSON.stringify(appid)}, "appkey": ${JSON.stringify(appkey)}}
device = call("/devices", {**app, "platform": "python", "appVersion": "1.0"})["accessToken"]
name = f"ada.python.{int(time.time())}"
user = call("/users", {"username": name, "password": "correct horse"}, device)["accessToken"]
print(call("/checkins", {"location": "48.2082,16.3738", "comment": "Hello"}, user))`;
}

function clientSnippet(appid: string, appkey: string): string {
  return `import { createRollcall, memoryStore } from "@rollcall/sdk";

const rollcall = createRollcall({
  url: ${JSON.stringify(serviceRoot())},
  appid: ${JSON.stringify(appid)},
  appkey: ${JSON.stringify(appkey)},
  device: { appVersion: "1.0.0" },
  store: memoryStore(), // in Node.js; browsers need no option
});

await rollcall.signUp({ userName: "ada", password: "correct horse" }); // registers the device first
await rollcall.checkins.create({ location: { lat: 48.2, lng: 16.37 }, comment: "Hello" });`;
}
