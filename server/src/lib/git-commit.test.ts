import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readGitCommit } from "./git-commit.ts";

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const [one, two] = ["1".repeat(40), "2".repeat(40)];

function write(name: string, text: string): void {
  mkdirSync(join(folder, name, ".."), { recursive: true });
  writeFileSync(join(folder, name), text);
}

describe("the commit of a checkout", () => {
  it("is found for a branch, loose or packed, and for a detached head, even in a worktree", () => {
    write("clone/.git/HEAD", "ref: refs/heads/main\n");
    write("clone/.git/packed-refs", `# pack-refs with: peeled\n${one} refs/heads/main\n`);
    assert.equal(readGitCommit(join(folder, "clone")), one);
    write("clone/.git/refs/heads/main", `${two}\n`);
    assert.equal(readGitCommit(join(folder, "clone")), two);
    write("tree/.git", "gitdir: ../clone/.git/worktrees/tree\n");
    write("clone/.git/worktrees/tree/commondir", "../..\n");
    write("clone/.git/worktrees/tree/HEAD", "ref: refs/heads/main\n");
    assert.equal(readGitCommit(join(folder, "tree")), two);
    write("clone/.git/worktrees/tree/HEAD", `${one}\n`);
    assert.equal(readGitCommit(join(folder, "tree")), one);
  });

  it("is unknown without git, or for a branch without a commit", () => {
    assert.equal(readGitCommit(join(folder, "none")), undefined);
    write("empty/.git/HEAD", "ref: refs/heads/main\n");
    assert.equal(readGitCommit(join(folder, "empty")), undefined);
  });
});
