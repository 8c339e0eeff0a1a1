import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addressOf } from "../db/postgres/connection-settings.ts";
import { databaseUrl } from "./database-url.ts";

describe("DATABASE_URL", () => {
  it("accepts the folder of a Unix socket in every spelling of libpq", () => {
    const socket = "postgres://u:p%25@localhost/db?host=%2Frun%2Fpg";
    for (const given of [
      "postgres://u:p%25@/db?host=/run/pg",
      "postgres://u:p%25@%2Frun%2Fpg/db",
      "postgres://u:p%25@localhost/db?host=/run/pg",
      "postgres://u:p%25@localhost/db?host=%2Frun%2Fpg",
    ]) {
      assert.equal(databaseUrl(given), socket, given);
    }
    const { url, options } = addressOf(databaseUrl("postgres://u@%2Frun%2Fpg:5433/my%20db?sslmode=disable"));
    assert.equal(url, "postgres://u@localhost:5433/my%20db?sslmode=disable");
    assert.deepEqual(options, { path: "/run/pg/.s.PGSQL.5433", database: "my db" });
  });

  it("accepts other URLs unchanged, and a host or a port as a parameter", () => {
    for (const url of [
      "postgres://user:p%2Fw%23%40%3F@h:5433/d?sslmode=require",
      "postgresql://h/d",
      "postgres:///d",
      "postgres://a,b/d",
      "postgres://[::1]:5432/d",
    ]) {
      assert.equal(databaseUrl(url), url);
    }
    assert.equal(databaseUrl("postgres://u@/d?host=db.example.org&port=5433"), "postgres://u@db.example.org:5433/d");
    assert.deepEqual(addressOf("postgres://h/d").options, { database: "d" });
  });

  it("explains the rule for characters that are not percent-encoded, without showing a password", () => {
    for (const password of ["S3cret100%", "S3cret#1", "S3/cret", "S3?cret", "S3@cret", "S3%ffcret", "S3%zzcret"]) {
      assert.throws(
        () => databaseUrl(`postgres://plain:${password}@127.0.0.1/db`),
        ({ message }) => {
          assert.match(message, /percent-encoded: % as %25, # as %23, \/ as %2F/);
          assert.doesNotMatch(message, /S3/);
          return true;
        },
      );
    }
  });
});
