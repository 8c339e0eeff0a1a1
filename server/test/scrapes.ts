import assert from "node:assert/strict";
import { type Answer, send } from "./harness.ts";

/** The series of a scrape, by name with labels. */
export type Scrape = ReadonlyMap<string, number>;

/** Scrapes a port and parses the metrics as Prometheus does: an invalid line fails the test. */
export async function scrape(port: number, token?: string): Promise<Scrape> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const answer = await send(port, "GET", "/_/prometheus", { headers });
  assert.equal(answer.status, 200, answer.text);
  return readScrape(answer);
}

export function readScrape({ text, headers }: Pick<Answer, "text" | "headers">): Scrape {
  assert.equal(headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
  const series = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("# ")) continue;
    const [, name = "", value = ""] =
      /^([a-z_][a-z0-9_]*(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)+\})?) (-?[\d.e+-]+|[+-]Inf|Nan)$/i.exec(line) ?? [];
    assert.notEqual(name, "", `not a valid line: ${line}`);
    assert.ok(!series.has(name), `reported twice: ${name}`);
    series.set(name, Number(value.replace("Inf", "Infinity")));
  }
  return series;
}
