import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { processorTime } from "../../test/processor-time.ts";
import { rounds } from "../../test/rounds.ts";
import { formatDate, parseDate, parseDateRange } from "./dates.ts";

const day = Date.UTC(2015, 6, 9);
const hourAfterFive = { start: day + 5 * 3_600_000, end: day + 6 * 3_600_000 };
const morning = Date.UTC(2015, 6, 9, 7, 7, 21);
const earliest = new Date("0001-01-01T00:00:00Z").getTime();
const latest = new Date("9999-12-31T23:59:59.999Z").getTime();

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const second = 1_000;
const minute = 60 * second;

/** Every accepted form: how a client formats an instant, and the resolution of the form. */
const forms: { name: string; unit: number; write(ms: number): string }[] = [
  { name: "/Date(ms)/", unit: 1, write: formatDate },
  { name: "/Date(ms+hhmm)/", unit: 1, write: (ms) => `/Date(${ms}+0530)/` },
  { name: "/Date(ms-hhmm)/", unit: 1, write: (ms) => `/Date(${ms}-0800)/` },
  { name: "integer", unit: 1, write: String },
  { name: "date", unit: 1440 * minute, write: (ms) => iso(ms).slice(0, 10) },
  { name: "minutes, no offset", unit: minute, write: (ms) => iso(ms).slice(0, 16) },
  { name: "minutes, Z", unit: minute, write: (ms) => `${iso(ms).slice(0, 16)}Z` },
  { name: "seconds, no offset", unit: second, write: (ms) => iso(ms).slice(0, 19) },
  { name: "seconds, Z", unit: second, write: (ms) => `${iso(ms).slice(0, 19)}Z` },
  { name: "fraction, no offset", unit: 1, write: (ms) => iso(ms).slice(0, 23) },
  { name: "fraction, Z", unit: 1, write: iso },
  { name: "fraction, +hh:mm", unit: 1, write: (ms) => `${iso(ms + 345 * minute).slice(0, 23)}+05:45` },
  { name: "fraction, -hh:mm", unit: 1, write: (ms) => `${iso(ms - 210 * minute).slice(0, 23)}-03:30` },
  { name: "seconds, +hhmm", unit: second, write: (ms) => `${iso(ms + 840 * minute).slice(0, 19)}+1400` },
  { name: "minutes, -hhmm", unit: minute, write: (ms) => `${iso(ms - 300 * minute).slice(0, 16)}-0500` },
  { name: "seconds, +hh", unit: second, write: (ms) => `${iso(ms + 840 * minute).slice(0, 19)}+14` },
  { name: "minutes, -hh", unit: minute, write: (ms) => `${iso(ms - 300 * minute).slice(0, 16)}-05` },
  { name: "blank, +hh", unit: second, write: (ms) => `${iso(ms).slice(0, 19).replace("T", " ")}+00` },
  { name: "yyyy/M/d", unit: 1440 * minute, write: (ms) => iso(ms).slice(0, 10).replaceAll(/-0?/g, "/") },
  { name: "MM/dd/yyyy HH:mm:ss", unit: second, write: writeSlashed },
  { name: "MMM d, yyyy h:mm:ss a", unit: second, write: writeNamed },
];

const anyInstant = fc.oneof(
  fc.integer({ min: earliest + 1440 * minute, max: latest - 1440 * minute }),
  fc.integer({ min: -10_000, max: 10_000 }),
  fc.constantFrom(-1, 0, 1, 500, 1_234, 2_015, -2_015),
);
const anyForm = fc.constantFrom(...forms);

describe("formatDate", () => {
  it("writes exactly /Date(<ms>)/", () => {
    assert.equal(formatDate(1_436_400_441_000), "/Date(1436400441000)/");
    assert.equal(formatDate(0), "/Date(0)/");
    assert.equal(formatDate(-86_400_000), "/Date(-86400000)/");
  });
});

// spec/transport#dates
describe("parseDate", () => {
  const same: [string, unknown, number][] = [
    ["/Date(ms)/", "/Date(1436425641000)/", morning],
    ["/Date(ms)/ before 1970", "/Date(-1)/", -1],
    ["/Date(ms) with the offset of a local time, which is UTC too", "/Date(1436425641000+0530)/", morning],
    ["/Date(ms) with a negative offset, before 1970", "/Date(-1-0800)/", -1],
    ["a blank in place of the T", "2015-07-09 07:07:21+00", morning],
    ["integer milliseconds", 1_436_425_641_000, morning],
    ["integer milliseconds as text", "1436425641000", morning],
    ["negative milliseconds as text", "-5", -5],
    ["an ISO 8601 date", "2015-07-09", day],
    ["an ISO 8601 date-time", "2015-07-09T07:07:21Z", morning],
    ["an ISO 8601 date-time in small letters", "2015-07-09t07:07:21z", morning],
    ["an ISO 8601 date-time without an offset, in UTC", "2015-07-09T07:07:21", morning],
    ["an ISO 8601 date-time without seconds", "2015-07-09T07:07", morning - 21_000],
    ["an ISO 8601 fraction, cut off after the millisecond", "2015-07-09T07:07:21.9999999Z", morning + 999],
    ["an ISO 8601 fraction of one digit", "2015-07-09T07:07:21.5Z", morning + 500],
    ["an ISO 8601 fraction after a comma", "2015-07-09T07:07:21,25Z", morning + 250],
    ["an ISO 8601 offset with a colon", "2015-07-09T09:07:21+02:00", morning],
    ["an ISO 8601 offset without a colon", "2015-07-08T23:37:21-0730", morning],
    ["an ISO 8601 offset in hours", "2015-07-09T09:07:21+02", morning],
    ["an ISO 8601 offset in hours, without seconds", "2015-07-08T23:07-08", morning - 21_000],
    ["yyyy/M/d", "2015/7/9", day],
    ["yyyy/M/d with zeros", "2015/07/09", day],
    ["MM/dd/yyyy HH:mm:ss", "07/09/2015 07:07:21", morning],
    ["an English month name", "Jul 9, 1981 7:07:21 AM", Date.UTC(1981, 6, 9, 7, 7, 21)],
    ["an English month name in any case", "jUL 09, 1981 07:07:21 pm", Date.UTC(1981, 6, 9, 19, 7, 21)],
    ["the form of newer Java libraries", "Jul 9, 1981, 7:07:21\u202fAM", Date.UTC(1981, 6, 9, 7, 7, 21)],
    ["12 AM as midnight", "Jul 9, 2015 12:00:00 AM", day],
    ["12 PM as noon", "Jul 9, 2015 12:00:00 PM", day + 720 * minute],
    ["surrounding blanks", " \t2015-07-09\n", day],
    ["the year 1969", "1969-12-31T23:59:59.999Z", -1],
    ["29 February 2000", "2000-02-29", Date.UTC(2000, 1, 29)],
    ["the first instant of the year 1", "0001-01-01", earliest],
    ["29 February in the year 4", "0004-02-29", new Date("0004-02-29").getTime()],
    ["the last instant of the year 9999", "9999-12-31T23:59:59.999Z", latest],
    ["the last instant of the year 9999 as a number", latest, latest],
  ];
  for (const [name, input, ms] of same) {
    it(`reads ${name}`, () => assert.deepEqual(parseDate(input), { value: ms }));
  }

  it("reads -0 as 0", () => {
    for (const input of [-0, "-0", "/Date(-0)/"]) assert.deepEqual(parseDate(input), { value: 0 });
  });

  const impossible: [string, string[]][] = [
    ["30 February", ["2015-02-30", "2015/2/30", "02/30/2015 00:00:00", "Feb 30, 2015 1:00:00 AM"]],
    ["29 February outside a leap year", ["2015-02-29", "1900-02-29", "2100/2/29"]],
    ["31 April", ["2015-04-31", "2015/4/31", "04/31/2015 00:00:00", "Apr 31, 2015 1:00:00 AM"]],
    ["month 0 or 13", ["2015-00-01", "2015-13-01", "2015/0/1", "2015/13/1", "13/01/2015 00:00:00"]],
    ["day 0 or 32", ["2015-01-00", "2015-01-32", "2015/1/0", "2015/1/32", "Jan 0, 2015 1:00:00 AM"]],
    ["hour 24 or 25", ["2015-01-01T24:00:00Z", "2015-01-01T25:00Z", "01/01/2015 24:00:00"]],
    ["hour 0 or 13 of a half day", ["Jan 1, 2015 0:00:00 AM", "Jan 1, 2015 13:00:00 PM"]],
    ["minute 60", ["2015-01-01T00:60Z", "01/01/2015 00:60:00", "Jan 1, 2015 1:60:00 AM"]],
    ["second 60", ["2015-01-01T00:00:60Z", "01/01/2015 00:00:60", "Jan 1, 2015 1:00:60 AM"]],
    ["an offset of 24 hours or 60 minutes", ["2015-01-01T00:00+24:00", "2015-01-01T00:00-0160", "2015-01-01T00:00+24"]],
    ["a month that does not exist in a year that is out of range", ["0000-13-01", "10000-02-30"]],
  ];
  for (const [name, inputs] of impossible) {
    it(`does not parse ${name}`, () => {
      for (const input of inputs) assert.equal(problemOf(parseDate(input)), "format", input);
    });
  }

  it("reports an instant outside of the years 0001 to 9999 as a range problem", () => {
    const inputs = [
      ...[latest + 1, earliest - 1, 8.64e15 + 1, 1e300, -1e300, String(latest + 1), "9".repeat(99)],
      ...[`/Date(${earliest - 1})/`, "/Date(99999999999999999999)/", "0000-12-31", "0000/1/1", "01/01/0000 00:00:00"],
      ...["10000-01-01", "999999-01-01", "10000/1/1", "+010000-01-01T00:00:00.000Z", "-000001-12-31", "-271821-04-20"],
      ...["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "Jan 1, 0000 1:00:00 AM"],
    ];
    for (const input of inputs) assert.equal(problemOf(parseDate(input)), "range", String(input));
  });

  it("does not parse a string or value that is not a date", () => {
    const inputs: unknown[] = [
      ...[undefined, null, true, false, {}, [], [5], { ms: 5 }, 5n, Symbol("5"), new Date(), () => 5],
      ...[1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
      ...["", " ", "-", "--5", "+5", "1.5", "1e3", "0x10", "NaN", "Infinity", "null", "(null)", "now", "5 5", "٣"],
      ...["/Date()/", "/Date(5)", "Date(5)", "/date(5)/", "/Date(5+2400)/", "/Date( 5 )/", "/Date(1.5)/", "/Date(5)/5"],
      ...["2015-07", "2015-7-9", "15-07-09", "2015-07-09T", "2015-07-09T07", "2015-07-09 7:07:21", "2015-07-09Z"],
      ...["2015-07-09T07:07:21.Z", "2015-07-09T07:07:21+2", "2015-07-09T07:07.5Z", "2015-190", "2015-W28-4"],
      ...["7/9/2015", "07/09/2015", "7/9/2015 07:07:21", "2015/7/9 07:07:21", "07/09/15 07:07:21", "2015/123/1"],
      ...["July 9, 1981 7:07:21 AM", "Foo 9, 1981 7:07:21 AM", "Jul 9, 1981 7:07:21", "9 Jul 1981 7:07:21 AM"],
      ...["2015-07-09\u0000", "2015-07-09T07:07:21Z2015-07-09T07:07:21Z"],
    ];
    for (const input of inputs) assert.equal(problemOf(parseDate(input)), "format", String(input));
  });

  it("returns a rule that completes a sentence that begins with the parameter name", () => {
    const format = { problem: "format", rule: "must be a date such as /Date(1436425641000)/ or 2015-07-09T07:07:21Z" };
    assert.deepEqual(parseDate("soon"), format);
    assert.deepEqual(parseDate("0000-01-01"), {
      problem: "range",
      rule: "must be a date between the years 0001 and 9999",
    });
  });

  it("returns the instant that was written, for every form", () => {
    const property = fc.property(anyInstant, anyForm, (instant, form) => {
      const ms = cut(instant, form.unit);
      assert.deepEqual(parseDate(form.write(ms)), { value: ms }, form.write(ms));
    });
    fc.assert(property, { numRuns: rounds(2_000) });
  });

  it("returns every integer within the years 0001 to 9999 unchanged, as a number or a string", () => {
    const property = fc.property(anyInstant, (ms) => assert.deepEqual(parseDate(ms), { value: ms }));
    fc.assert(property);
  });
});

// spec/transport#date-ranges
describe("parseDateRange", () => {
  const same: [string, string, { start?: number; end?: number }][] = [
    ["two ISO dates", "2015-01-01-2015-01-31", { start: Date.UTC(2015, 0, 1), end: Date.UTC(2015, 0, 31) }],
    ["two /Date(ms)/", "/Date(1)/-/Date(2)/", { start: 1, end: 2 }],
    ["two negative /Date(ms)/", "/Date(-5)/-/Date(-3)/", { start: -5, end: -3 }],
    ["two integers", "5-7", { start: 5, end: 7 }],
    ["two negative integers", "-5--3", { start: -5, end: -3 }],
    ["a negative start", "-5-3", { start: -5, end: 3 }],
    ["a negative start and an ISO end", "-5-2015-07-09", { start: -5, end: day }],
    ["an instant alone, given twice", "5-5", { start: 5, end: 5 }],
    ["an empty end", "2015-07-09-", { start: day }],
    ["an empty end after a negative start", "-5-", { start: -5 }],
    ["(null) as the end", "2015-07-09-(null)", { start: day }],
    ["a leading dash as an open start", "-2015-01-01T00:00:00Z", { end: Date.UTC(2015, 0, 1) }],
    ["a leading dash before an integer as an open start", "-5", { end: 5 }],
    ["a leading dash before a negative integer as an open start", "--3", { end: -3 }],
    ["(null) as the start", "(null)-2015-07-09", { end: day }],
    ["(null) before a negative integer", "(null)--3", { end: -3 }],
    ["two open ends", "(null)-(null)", {}],
    ["a dash alone", "-", {}],
    ["blanks around both dates", " 2015/1/1 - 2015/7/9 ", { start: Date.UTC(2015, 0, 1), end: day }],
    [
      "an offset before the dash",
      "2015-07-09T00:00-0500-2015-07-10",
      { start: day + 300 * minute, end: day + 1440 * minute },
    ],
    ["an offset at the end", "5-2015-07-09T00:00-05:00", { start: 5, end: day + 300 * minute }],
    ["an offset in hours on both sides", "2015-07-09T00:00-05-2015-07-09T00:00-06", hourAfterFive],
    ["an offset after an open start", "-2015-07-09T00:00-0500", { end: day + 300 * minute }],
    ["a year that looks like an offset", "0499-01-01T00:00-0500-01-01", { start: yearStart(499), end: yearStart(500) }],
    [
      "dates of two forms",
      "Jul 9, 1981 7:07:21 AM-07/09/2015 07:07:21",
      { start: Date.UTC(1981, 6, 9, 7, 7, 21), end: morning },
    ],
  ];
  for (const [name, input, range] of same) {
    it(`reads ${name}`, () => assert.deepEqual(parseDateRange(input), { value: range }));
  }

  it("reports an end before its start as a range problem", () => {
    for (const input of ["7-5", "-3--5", "2015-01-31-2015-01-01", "/Date(2)/-/Date(1)/", "2015-07", "5--5"]) {
      assert.deepEqual(parseDateRange(input), { problem: "range", rule: "must not end before it starts" }, input);
    }
  });

  it("reports an end outside of the years 0001 to 9999 as a range problem", () => {
    for (const input of ["0000-01-01-2015-01-01", "2015-01-01-10000-01-01", `-${latest + 1}`, `${earliest - 1}-`]) {
      assert.equal(problemOf(parseDateRange(input)), "range", input);
    }
  });

  it("does not parse a date without the dash", () => {
    for (const input of [
      ...["5", "/Date(5)/", "/Date(-5)/", "2015-07-09", "2015/7/9", "07/09/2015 07:07:21", "Jul 9, 1981 7:07:21 AM"],
      ...[
        "2015-07-09T07:07:21Z",
        "2015-07-09T07:07:21-05:00",
        "2015-07-09T07:07:21-0500",
        "2015-07-09T07:07-05",
        "(null)",
      ],
    ]) {
      assert.equal(problemOf(parseDateRange(input)), "format", input);
    }
  });

  it("reads an ISO date as a range if its offset can be a later end", () => {
    const range = { start: Date.UTC(1965, 0, 1), end: 500 };
    assert.deepEqual(parseDateRange("1965-01-01T00:00-0500"), { value: range });
  });

  it("does not parse a string or value that is not a range", () => {
    const inputs: unknown[] = [
      ...[undefined, null, 5, -5, true, {}, [], { start: 1, end: 2 }, ["1-2"]],
      ...["", " ", "--", "---", "a-b", "1-2-3", "1–2", "1,2", "2015-02-30-2015-03-01", "2015-01-01-2015-02-30"],
      ...["(null)", "null-null", "(NULL)-5", "2015-01-01--", "2015-01-01T25:00-", "1-2-", "5- -"],
    ];
    for (const input of inputs) assert.equal(problemOf(parseDateRange(input)), "format", String(input));
  });

  it("returns both instants of a range of any two forms, and open bounds as open", () => {
    const blanks = fc.constantFrom("", " ", "  ");
    const open = fc.constantFrom("", "(null)");
    const ends = fc.tuple(anyInstant, anyForm, fc.option(open, { freq: 5 }));
    const property = fc.property(ends, ends, blanks, (one, other, blank) => {
      const [start, end] = [one, other]
        .map(([instant, form, nothing]) => ({ ms: cut(instant, form.unit), form, nothing }))
        .sort((a, b) => a.ms - b.ms);
      assert.ok(start !== undefined && end !== undefined);
      const text = [start, end].map(({ ms, form, nothing }) => nothing ?? form.write(ms)).join(`${blank}-${blank}`);
      const range = {
        ...(start.nothing === null && { start: start.ms }),
        ...(end.nothing === null && { end: end.ms }),
      };
      assert.deepEqual(parseDateRange(text), { value: range }, text);
    });
    fc.assert(property, { numRuns: rounds(3_000) });
  });

  it("never reads a range in the wrong order, of any two forms, as another range", () => {
    const property = fc.property(anyInstant, anyForm, anyInstant, anyForm, (one, oneForm, other, otherForm) => {
      const start = cut(one, oneForm.unit);
      const end = cut(other, otherForm.unit);
      fc.pre(end < start);
      assert.ok("problem" in parseDateRange(`${oneForm.write(start)}-${otherForm.write(end)}`));
    });
    fc.assert(property, { numRuns: rounds(2_000) });
  });

  it("finds exactly one dash with complete dates on both sides", () => {
    const property = fc.property(anyInstant, anyForm, anyInstant, anyForm, (one, oneForm, other, otherForm) => {
      const text = `${oneForm.write(cut(one, oneForm.unit))}-${otherForm.write(cut(other, otherForm.unit))}`;
      const isEnd = (part: string) => part === "" || "value" in parseDate(part);
      const dashes = [...text.matchAll(/-/g)].map((match) => match.index);
      assert.equal(dashes.filter((at) => isEnd(text.slice(0, at)) && isEnd(text.slice(at + 1))).length, 1, text);
    });
    fc.assert(property, { numRuns: rounds(2_000) });
  });
});

describe("hostile dates", () => {
  it("return a value or a problem for any input, never an exception", () => {
    const pieces = fc.constantFrom(..."0159-+:/TZ., ", "/Date(", ")/", "(null)", "2015-07-09", "Jul ", " AM");
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(pieces).map((parts) => parts.join("")),
    );
    const property = fc.property(fc.oneof(text, fc.anything()), (input) => {
      for (const result of [parseDate(input), parseDateRange(input)])
        assert.ok("value" in result || result.rule !== "");
    });
    fc.assert(property, { numRuns: rounds(700) });
  });

  it("are parsed to instants within the years 0001 to 9999, in order", () => {
    const pieces = fc.constantFrom(..."0159-+:/TZ", "-", "-", "/Date(5)/", "(null)", "2015-07-09", "T07:07", "-0500");
    const property = fc.property(
      fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join("")),
      (text) => {
        const range = parseDateRange(text);
        if ("problem" in range) return;
        const { start = earliest, end = latest } = range.value;
        assert.ok(Number.isInteger(start) && Number.isInteger(end), text);
        assert.ok(earliest <= start && start <= end && end <= latest, text);
      },
    );
    fc.assert(property, { numRuns: rounds(2_000) });
  });

  it("are refused immediately if they are long", () => {
    const units = [
      "-",
      "9",
      " ",
      "-5-",
      "2015-01-01-",
      "2015-01-01T00:00:00.",
      "/Date(",
      "\u0000",
      "\ud800",
      "Jul 9, ",
    ];
    const spentMs = processorTime();
    for (const unit of units) {
      for (const length of [101, 1_000, 100_000]) {
        const text = unit.repeat(length);
        assert.equal(problemOf(parseDate(text)), "format");
        assert.equal(problemOf(parseDateRange(text)), "format");
      }
      const text = unit.repeat(100).slice(0, 100);
      parseDate(text);
      parseDateRange(text);
    }
    assert.equal(problemOf(parseDate(`${" ".repeat(91)}2015-07-09`)), "format");
    assert.ok(spentMs() < 500);
  });
});

function problemOf(result: ReturnType<typeof parseDate> | ReturnType<typeof parseDateRange>): string {
  return "problem" in result ? result.problem : `none, but ${JSON.stringify(result.value)}`;
}

function cut(ms: number, unit: number): number {
  return Math.floor(ms / unit) * unit;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function yearStart(year: number): number {
  return new Date(0).setUTCFullYear(year, 0, 1);
}

function writeSlashed(ms: number): string {
  const [date = "", time = ""] = iso(ms).slice(0, 19).split("T");
  return `${date.slice(5, 7)}/${date.slice(8)}/${date.slice(0, 4)} ${time}`;
}

function writeNamed(ms: number): string {
  const date = new Date(ms);
  const hour = date.getUTCHours();
  const clock = `${hour % 12 || 12}${iso(ms).slice(13, 19)} ${hour < 12 ? "AM" : "PM"}`;
  return `${months[date.getUTCMonth()]} ${date.getUTCDate()}, ${iso(ms).slice(0, 4)} ${clock}`;
}
