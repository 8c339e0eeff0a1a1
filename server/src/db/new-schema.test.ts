// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mergeAddedColumns, withoutDropped } from "./new-schema.ts";

describe("The schema of a new database", () => {
  it("an added column becomes a column of its table, before the constraints and behind the other columns", () => {
    assert.deepEqual(
      mergeAddedColumns([
        "create table a (id text not null, size numeric(3, 2) default 1, primary key (id, size)) strict",
        "create table b (note text default 'a, (primary key', more text primary key)",
        "create index of_a on a (id)",
        `alter table "a" add column "name" text not null default 'x'`,
        "alter table b add column last integer",
        "alter table a add column kind text",
        "alter table elsewhere add column kind text",
      ]),
      [
        "create table a (id text not null, size numeric(3, 2) default 1, \"name\" text not null default 'x', kind text, primary key (id, size)) strict",
        "create table b (note text default 'a, (primary key', more text primary key, last integer)",
        "create index of_a on a (id)",
        "alter table elsewhere add column kind text",
      ],
    );
  });

  it("a column goes into the table of its time when a table was replaced", () => {
    const replaced = ["create table a (id text)", "drop table a", "create table a (key text)"];
    assert.deepEqual(mergeAddedColumns([...replaced, "alter table a add column name text"]), [
      ...replaced.slice(0, 2),
      "create table a (key text, name text)",
    ]);
  });

  it("what a later statement drops is not created, with the indexes and changes of a table", () => {
    const kept = ["create table b (id text)", "create index of_b on b (id)", "create table ab (id text)"];
    assert.deepEqual(
      withoutDropped([
        "create table a (id text)",
        "create unique index if not exists of_a on a (id)",
        'alter table "a" drop constraint more',
        ...kept.slice(0, 2),
        "create index of_b_too on b (id)",
        kept[2] ?? "",
        "drop index of_b_too",
        "drop table a",
        "drop index of_elsewhere",
        "create table a (key text)",
      ]),
      [...kept, "drop index of_elsewhere", "create table a (key text)"],
    );
  });
});
