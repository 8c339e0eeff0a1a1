import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** The root of the repository. */
export const root = join(import.meta.dirname, "../..");

/** Lists the files below a folder of the repository, as paths from the root, with `/` on every system. */
export function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = `${folder}/${name}`;
    if (name === "node_modules") return [];
    return statSync(join(root, path)).isDirectory() ? filesBelow(path) : [path];
  });
}

export function readText(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

export interface Heading {
  readonly level: number;
  readonly anchor: string;
}

/** Lists the headings of a Markdown document with their anchors on GitHub. */
export function headingsOf(markdown: string): Heading[] {
  const seen = new Map<string, number>();
  return [...withoutCode(markdown).matchAll(/^(#{1,6}) (.*)$/gm)].map(([, marks = "", title = ""]) => {
    const slug = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return { level: marks.length, anchor: count === 0 ? slug : `${slug}-${count}` };
  });
}

/** Removes the fenced code blocks of a document. */
export function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^```.*?^```$/gms, "");
}
