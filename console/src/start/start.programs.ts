import { serviceRoot } from "../lib/service-root.ts";

/** All steps in one file, in another language than that of shells. */
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
    id: "swift",
    language: "Swift",
    lead: "Plain HTTP with Foundation, as main.swift. An app keeps the tokens in the keychain.",
    text: swiftSnippet,
  },
  {
    id: "kotlin",
    language: "Kotlin",
    lead: "Plain HTTP with the classes of Java and Android. An Android app calls it beside its main thread.",
    text: kotlinSnippet,
  },
  { id: "python", language: "Python", lead: "Plain HTTP with what Python brings along.", text: pythonSnippet },
  { id: "csharp", language: "C#", lead: "Plain HTTP with .NET, as Program.cs.", text: csharpSnippet },
];

function clientSnippet(appid: string, appkey: string): string {
  return `import { createRollcall, memoryStore } from "@rollcall/sdk";
import { createCheckin, getOwnUser } from "@rollcall/sdk/calls";

const rollcall = createRollcall({
  url: ${JSON.stringify(serviceRoot())},
  appid: ${JSON.stringify(appid)},
  appkey: ${JSON.stringify(appkey)},
  device: { appVersion: "1.0.0" },
  store: memoryStore(), // in Node.js; browsers need no option
});

await rollcall.signUp({ userName: "ada", password: "correct horse" }); // registers the device first
await rollcall.checkins.create({ location: { lat: 48.2, lng: 16.37 }, comment: "Hello" });
await rollcall.metrics.record("screen-opened", { values: { screen: "map", tiles: 12 } });
await rollcall.blobs.create(new Blob(["hello"], { type: "text/plain" }), { friendlyName: "Greeting" });

const batch = rollcall.batch(); // several calls in one request
batch.add(getOwnUser());
batch.add(createCheckin({ location: { lat: 48.21, lng: 16.37 } }));
await batch.send();`;
}

function pythonSnippet(appid: string, appkey: string): string {
  return `import json, time, urllib.request

ROOT = ${JSON.stringify(serviceRoot())}


def send(path, body, content_type, token=None):
    headers = {"Content-Type": content_type}
    if token:
        headers["Authorization"] = "Service " + token
    request = urllib.request.Request(ROOT + path, body, headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["result"]


def call(path, body, token=None):
    return send(path, json.dumps(body).encode(), "application/json", token)


app = {"appid": ${JSON.stringify(appid)}, "appkey": ${JSON.stringify(appkey)}}
device = call("/devices", {**app, "platform": "python", "appVersion": "1.0"})["accessToken"]
name = f"ada.python.{int(time.time())}"
user = call("/users", {"username": name, "password": "correct horse"}, device)["accessToken"]
print(call("/checkins", {"location": "48.2082,16.3738", "comment": "Hello"}, user))
call("/metrics/events/screen-opened", {"values": {"screen": "map", "tiles": 12}}, device)

form = b"--part\\r\\nContent-Disposition: form-data; name=\\"data\\"; filename=\\"hello.txt\\"\\r\\n"
form += b"Content-Type: text/plain\\r\\n\\r\\nhello\\r\\n--part--\\r\\n"
print(send("/blobs", form, "multipart/form-data; boundary=part", user))

me = {"method": "GET", "path": "/users/me"}
place = {"method": "POST", "path": "/checkins", "parameters": {"location": "48.21,16.37"}}
print(call("/batch", {"requests": [me, place]}, user))`;
}

function swiftSnippet(appid: string, appkey: string): string {
  return `import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

let root = ${JSON.stringify(serviceRoot())}

func send(_ path: String, _ body: Data, type: String, token: String?) async throws -> [String: Any] {
    var request = URLRequest(url: URL(string: root + path)!)
    request.httpMethod = "POST"
    request.httpBody = body
    request.setValue(type, forHTTPHeaderField: "Content-Type")
    if let token { request.setValue("Service " + token, forHTTPHeaderField: "Authorization") }
    let (data, _) = try await URLSession.shared.data(for: request)
    let answer = try JSONSerialization.jsonObject(with: data) as! [String: Any]
    guard let result = answer["result"] as? [String: Any] else { fatalError("\\(answer)") }
    return result
}

func call(_ path: String, _ body: [String: Any], token: String? = nil) async throws -> [String: Any] {
    let json = try JSONSerialization.data(withJSONObject: body)
    return try await send(path, json, type: "application/json", token: token)
}

let app = ["appid": ${JSON.stringify(appid)}, "appkey": ${JSON.stringify(appkey)}]
let facts = ["platform": "swift", "appVersion": "1.0"]
let device = try await call("/devices", app.merging(facts) { $1 })["accessToken"] as! String
let name = "ada.swift.\\(Int(Date().timeIntervalSince1970))"
let user = try await call("/users", ["username": name, "password": "correct horse"], token: device)["accessToken"] as! String
print(try await call("/checkins", ["location": "48.2082,16.3738", "comment": "Hello"], token: user))
_ = try await call("/metrics/events/screen-opened", ["values": ["screen": "map", "tiles": 12] as [String: Any]], token: device)

let form = "--part\\r\\nContent-Disposition: form-data; name=\\"data\\"; filename=\\"hello.txt\\"\\r\\n"
    + "Content-Type: text/plain\\r\\n\\r\\nhello\\r\\n--part--\\r\\n"
print(try await send("/blobs", Data(form.utf8), type: "multipart/form-data; boundary=part", token: user))

let me: [String: Any] = ["method": "GET", "path": "/users/me"]
let place: [String: Any] = ["method": "POST", "path": "/checkins", "parameters": ["location": "48.21,16.37"]]
print(try await call("/batch", ["requests": [me, place]], token: user))`;
}

function kotlinSnippet(appid: string, appkey: string): string {
  const quotes = '"""';
  return `import java.net.HttpURLConnection
import java.net.URI

const val ROOT = ${JSON.stringify(serviceRoot())}

fun call(path: String, body: String, token: String? = null, type: String = "application/json"): String {
    val connection = URI(ROOT + path).toURL().openConnection() as HttpURLConnection
    connection.requestMethod = "POST"
    connection.doOutput = true
    connection.setRequestProperty("Content-Type", type)
    if (token != null) connection.setRequestProperty("Authorization", "Service $token")
    connection.outputStream.use { it.write(body.toByteArray()) }
    val isGood = connection.responseCode < 400
    val answer = (if (isGood) connection.inputStream else connection.errorStream).reader().readText()
    check(isGood) { answer }
    return answer
}

fun tokenIn(answer: String) = Regex("\\"accessToken\\":\\"([^\\"]+)\\"").find(answer)!!.groupValues[1]

fun main() {
    val app = ${quotes}"appid": ${JSON.stringify(appid)}, "appkey": ${JSON.stringify(appkey)}${quotes}
    val device = tokenIn(call("/devices", ${quotes}{$app, "platform": "kotlin", "appVersion": "1.0"}${quotes}))
    val name = "ada.kotlin.\${System.currentTimeMillis() / 1000}"
    val user = tokenIn(call("/users", ${quotes}{"username": "$name", "password": "correct horse"}${quotes}, device))
    println(call("/checkins", ${quotes}{"location": "48.2082,16.3738", "comment": "Hello"}${quotes}, user))
    call("/metrics/events/screen-opened", ${quotes}{"values": {"screen": "map", "tiles": 12}}${quotes}, device)

    val form = "--part\\r\\nContent-Disposition: form-data; name=\\"data\\"; filename=\\"hello.txt\\"\\r\\n" +
        "Content-Type: text/plain\\r\\n\\r\\nhello\\r\\n--part--\\r\\n"
    println(call("/blobs", form, user, "multipart/form-data; boundary=part"))

    val me = ${quotes}{"method": "GET", "path": "/users/me"}${quotes}
    val place = ${quotes}{"method": "POST", "path": "/checkins", "parameters": {"location": "48.21,16.37"}}${quotes}
    println(call("/batch", ${quotes}{"requests": [$me, $place]}${quotes}, user))
}`;
}

function csharpSnippet(appid: string, appkey: string): string {
  return `using System.Net.Http.Json;
using System.Text.Json.Nodes;

const string root = ${JSON.stringify(serviceRoot())};
var http = new HttpClient();

async Task<JsonNode> Send(string path, HttpContent content, string? token = null)
{
    using var request = new HttpRequestMessage(HttpMethod.Post, root + path) { Content = content };
    if (token != null) request.Headers.TryAddWithoutValidation("Authorization", "Service " + token);
    using var response = await http.SendAsync(request);
    var answer = JsonNode.Parse(await response.Content.ReadAsStringAsync())!;
    return response.IsSuccessStatusCode ? answer["result"]! : throw new Exception(answer.ToJsonString());
}

Task<JsonNode> Call(string path, object body, string? token = null) => Send(path, JsonContent.Create(body), token);

var facts = new { appid = ${JSON.stringify(appid)}, appkey = ${JSON.stringify(appkey)}, platform = "csharp", appVersion = "1.0" };
var device = (string)(await Call("/devices", facts))["accessToken"]!;
var name = $"ada.csharp.{DateTimeOffset.UtcNow.ToUnixTimeSeconds()}";
var user = (string)(await Call("/users", new { username = name, password = "correct horse" }, device))["accessToken"]!;
Console.WriteLine(await Call("/checkins", new { location = "48.2082,16.3738", comment = "Hello" }, user));
await Call("/metrics/events/screen-opened", new { values = new { screen = "map", tiles = 12 } }, device);

using var form = new MultipartFormDataContent { { new StringContent("hello"), "data", "hello.txt" } };
Console.WriteLine(await Send("/blobs", form, user));

var me = new { method = "GET", path = "/users/me" };
var place = new { method = "POST", path = "/checkins", parameters = new { location = "48.21,16.37" } };
Console.WriteLine(await Call("/batch", new { requests = new object[] { me, place } }, user));`;
}
