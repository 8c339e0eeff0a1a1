import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Writes a page that shows all pictures of the folder side by side: a row for each screen, a column for each look. */
export function writeSheet(folder: string, looks: readonly string[]): void {
  const files = new Set(readdirSync(folder));
  const ofFirstLook = [...files].filter((file) => file.endsWith(`-${looks[0]}.jpg`)).sort();
  const rows = ofFirstLook.map((first) => {
    const screen = first.slice(0, -`-${looks[0]}.jpg`.length);
    const pictures = looks.map((look) => `${screen}-${look}.jpg`).filter((file) => files.has(file));
    return `<tr><th scope="row">${screen}</th>${pictures.map((file) => `<td>${pictureOf(file)}</td>`).join("")}</tr>`;
  });
  const head = ["Screen", ...looks].map((name) => `<th scope="col">${name}</th>`).join("");
  const table = `<table><thead><tr>${head}</tr></thead><tbody>${rows.join("\n")}</tbody></table>`;
  writeFileSync(path.join(folder, "index.html"), `${start}${table}\n`);
}

const start = `<!doctype html><html lang="en"><meta charset="utf-8"><title>All screens of the console</title>
<style>body { font: 13px system-ui; background: #ddd } th { text-align: start; padding: 8px }
td { vertical-align: top; padding: 8px } img { block-size: 300px; border: 1px solid #888 }</style>
`;

function pictureOf(file: string): string {
  return `<a href="${file}"><img loading="lazy" src="${file}" alt="${file}"></a>`;
}
