// Runs on one engine: it tests HTTP, before any statement.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  type CallOptions,
  openRaw,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
after(() => test.close());

const form = "application/x-www-form-urlencoded";

/** Creates a check-in with this body and content type. */
function checkIn(body: NonNullable<CallOptions["body"]>, contentType = "application/json"): Promise<Answer> {
  return test.call("POST /checkins", { token: user.token, body, headers: { "content-type": contentType } });
}

async function assertComment(answer: Promise<Answer>, comment: string | undefined): Promise<void> {
  const { status, body } = await answer;
  assert.deepEqual([status, body.result?.comment], [201, comment], JSON.stringify(body));
}

function latin1(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

describe("an empty body means no parameters: spec/transport#bodies", () => {
  const labels = [
    undefined,
    "application/json",
    "application/json; charset=utf-16",
    form,
    "multipart/form-data; boundary=x",
    "multipart/form-data",
    "text/plain",
    "image/png",
    "nonsense",
    "",
  ];

  it("on POST, with any content type", async () => {
    for (const label of labels) {
      const headers: Record<string, string> = label === undefined ? {} : { "content-type": label };
      const { token } = await test.signUp();
      assert.equal((await test.call("POST /users/me/logout", { token, headers })).status, 200, `${label}`);
      const checkin = await test.call("POST /checkins", { token: user.token, headers });
      assertError(checkin, 400, "ParameterMissingRequiredValue", 513, "location is required.");
    }
  });

  it("on GET and on unknown verbs", async () => {
    for (const label of labels) {
      const headers: Record<string, string> = label === undefined ? {} : { "content-type": label };
      assert.equal((await test.call("GET /users/me", { token: user.token, headers })).status, 200, `${label}`);
      for (const operation of ["PUT /users/me", "DELETE /service/ping", "PATCH /checkins"]) {
        const answer = await test.call(operation, { token: user.token, headers });
        assertError(answer, 404, "OperationNotFound", 516, "There is no such operation.");
      }
    }
  });

  it("whether it has length 0, no chunks, only white space or only a byte order mark", async () => {
    const heads = ["Content-Length: 0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"];
    for (const head of heads) {
      const connection = openRaw(test.port);
      const start = `POST /checkins HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${user.token}\r\n`;
      connection.write(`${start}Content-Type: application/json\r\n${head}`);
      const answer = await connection.receive();
      assert.equal(answer?.body.message, "location is required.");
      connection.close();
    }
    for (const body of ["", " \r\n\t ", "\uFEFF"]) {
      assertError(await checkIn(body), 400, "ParameterMissingRequiredValue", 513, "location is required.");
    }
  });
});

describe("JSON bodies: spec/transport#bodies", () => {
  it("are read completely when many chunks arrive in one packet", async () => {
    const connection = openRaw(test.port);
    const chunks = [...'{"location":"1,2"}'].map((byte) => `1\r\n${byte}\r\n`).join("");
    const head = `POST /checkins HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${user.token}\r\n`;
    connection.write(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
    assert.equal((await connection.receive())?.status, 201);
    connection.close();
  });

  it("are recognized by their first {, with any content type and even if they are invalid", async () => {
    const labels = [
      "application/json",
      "Application/JSON; Charset=UTF-8",
      'application/json;charset="utf-8"',
      "application/json;",
      "application/json, application/json",
      "application/vnd.api+json",
      form,
      "text/plain",
      "text/xml; charset=us-ascii",
      "application/octet-stream",
      "multipart/form-data",
      "multipart/form-data; boundary=x",
      "nonsense",
      "/",
      ";",
      "",
      "é",
      "x".repeat(8_000),
    ];
    for (const label of labels) await assertComment(checkIn('{"location":"1,2","comment":"☺"}', label), "☺");
    await assertComment(checkIn(' \r\n\t{"location":"1,2","comment":"☺"}', form), "☺");
  });

  it("may begin with a byte order mark, which is ignored", async () => {
    await assertComment(checkIn('\uFEFF{"location":"1,2","comment":"a"}'), "a");
    await assertComment(checkIn('\uFEFF{"location":"1,2","comment":"a"}', form), "a");
  });

  it("have no parameters if they are the value null", async () => {
    assertError(await checkIn("null"), 400, "ParameterMissingRequiredValue", 513, "location is required.");
  });

  it("get 400 ParameterIncorrectFormat if they are another value than an object", async () => {
    for (const body of ["[]", '[{"location":"1,2"}]', '"text"', "1", "true"]) {
      assertError(await checkIn(body), 400, "ParameterIncorrectFormat", 515, "The body must be a JSON object.");
    }
  });

  it("get 400 ParameterIncorrectFormat if they are malformed", async () => {
    const bodies = ["{", "{}{}", "{'location':'1,2'}", '{"location":"1,2",}', "{location:1}", "NaN", "hello", "<a/>"];
    for (const body of bodies) {
      assertError(await checkIn(body), 400, "ParameterIncorrectFormat", 515, "The body is not valid JSON.");
    }
  });

  it("are ignored in a GET, which reads its parameters only from the query", async () => {
    for (const body of ['{"pageSize":0}', "{"]) {
      const { status } = await test.call("GET /checkins?pageSize=1", { token: user.token, body });
      assert.equal(status, 200);
    }
  });
});

describe("form bodies: spec/transport#bodies", () => {
  it("are parsed as queries are: escapes, plus signs, names in any case, the last of several values", async () => {
    await assertComment(checkIn("location=1%2C2&comment=a+b%26c%3D%E2%98%BA", form), "a b&c=☺");
    await assertComment(checkIn("LOCATION=1,2&Comment=x&&unknown&=&a=b=c", `${form}; charset=UTF-8`), "x");
    await assertComment(checkIn("location=1,2&comment=first&comment=last", form), "last");
    await assertComment(checkIn("location=1,2&comment=", form), undefined);
    await assertComment(checkIn("location=1,2&comment", form), undefined);
  });

  it("get 400 ParameterIncorrectFormat for escapes that are not UTF-8", async () => {
    const message = "comment has escapes that are not UTF-8.";
    for (const comment of ["%", "%zz", "%ff", "%c3%28", "%ed%a0%80"]) {
      const answer = await checkIn(`location=1,2&comment=${comment}`, form);
      assertError(answer, 400, "ParameterIncorrectFormat", 515, message);
    }
  });
});

// spec/transport#body-limits
describe("forms with very many parameters (hostile.md 17)", () => {
  it("are refused with 413 RequestTooLarge and the limit, in no more time than parsing takes", async () => {
    const tooLarge = [413, "RequestTooLarge", 1281] as const;
    const rule = "A form may have at most 1000 parameters.";
    const pairs = "%zz&".repeat(262_000);
    const began = process.cpuUsage();
    assertError(await checkIn(pairs, form), ...tooLarge, rule);
    const { user: micros } = process.cpuUsage(began);
    assert.ok(micros < 300_000, `${micros / 1_000} ms`);
    assertError(await checkIn("&".repeat(1_000_000), form), ...tooLarge, rule);
  });

  it("are accepted with 1,000 parameters, including undeclared ones", async () => {
    await assertComment(checkIn(`location=1%2C2&comment=many${"&u=1".repeat(998)}`, form), "many");
  });
});

describe("the charset of a body: spec/transport#charsets", () => {
  it("may be iso-8859-1", async () => {
    for (const charset of ["iso-8859-1", "ISO-8859-1", '"iso-8859-1"', "iso-8859-1; x=y"]) {
      const label = `application/json; charset=${charset}`;
      await assertComment(checkIn(latin1('{"location":"1,2","comment":"café ÿ"}'), label), "café ÿ");
    }
    await assertComment(checkIn(latin1("location=1,2&comment=café"), `${form}; charset=iso-8859-1`), "café");
  });

  it("applies to the escapes of a form", async () => {
    await assertComment(checkIn("location=1,2&comment=caf%E9+%FF", `${form};charset=iso-8859-1`), "café ÿ");
  });

  it("is UTF-8 by default, and invalid UTF-8 gets 400 ParameterIncorrectFormat", async () => {
    const broken = [
      latin1('{"location":"1,2","comment":"café"}'),
      latin1('{"location":"1,2","comment":"\xC0\xAF"}'), // an overlong slash
      latin1('{"location":"1,2","comment":"\xED\xA0\x80"}'), // a surrogate
      latin1('{"location":"1,2","comment":"\xF4\x90\x80\x80"}'), // beyond Unicode
      latin1('{"location":"1,2","comment":"\xE2\x98'), // cut off
      Buffer.from('\uFEFF{"location":"1,2"}', "utf16le"),
      latin1("\xFF\xFE\0"),
    ];
    for (const body of broken) {
      for (const label of ["application/json", "application/json; charset=utf-8", form, "text/plain", "nonsense"]) {
        const answer = await checkIn(body, label);
        assertError(answer, 400, "ParameterIncorrectFormat", 515, "The body is not valid UTF-8.");
      }
    }
  });

  it("gets 400 ParameterIncorrectFormat if it is another charset", async () => {
    for (const charset of ["utf-16", "windows-1252", "utf-7", "nonsense"]) {
      const answer = await checkIn('{"location":"1,2"}', `application/json; charset=${charset}`);
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "The charset must be utf-8 or iso-8859-1.");
    }
  });
});

describe("a body above BODY_BYTES_MAX: spec/transport#body-limits", () => {
  it("gets 413 RequestTooLarge with the limit, with a Content-Length and with chunks", async () => {
    const small = await startTestApp({ BODY_BYTES_MAX: "2048" });
    const { token } = await small.signUp();
    const empty = JSON.stringify({ location: "1,2", comment: "" }).length;
    const options = { token, body: { location: "1,2", comment: "x".repeat(2048 - empty) } };
    assert.equal((await small.call("POST /checkins", options)).status, 201);
    options.body.comment += "x";
    const message = "The body is larger than 2048 bytes.";
    assertError(await small.call("POST /checkins", options), 413, "RequestTooLarge", 1281, message);

    const connection = openRaw(small.port);
    connection.write(`POST /checkins HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${token}\r\n`);
    connection.write(`Transfer-Encoding: chunked\r\n\r\n801\r\n${"x".repeat(2049)}\r\n`);
    const answer = await connection.receive();
    assert.ok(answer !== undefined);
    assertError(answer, 413, "RequestTooLarge", 1281, message);
    connection.close();
    await small.close();
  });

  it("gets 413 above 64 KiB if the request has no token, so that parsing it cannot delay other callers", async () => {
    const appid = "app_00000000000000000000000000";
    const members = Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [`m${index}`, 1]));
    const answer = await test.call("POST /devices", { body: { appid, appkey: "x", ...members } });
    assertError(answer, 413, "RequestTooLarge", 1281, "The body is larger than 65536 bytes.");
    const comment = "x".repeat(70_000);
    assert.notEqual((await test.call("POST /checkins", { token: user.token, body: { comment } })).status, 413);
  });
});
