/** The names and qualities of an Accept or Accept-Encoding header. */
export type Accepted = readonly { readonly name: string; readonly quality: number }[];

export function readAccept(header: string | undefined): Accepted {
  return (header ?? "").split(",").map((part) => {
    const [name = "", ...parameters] = part.split(";").map((each) => each.trim().toLowerCase());
    const quality = parameters.find((each) => each.startsWith("q="))?.slice(2) ?? "1";
    return { name, quality: Number(quality) || 0 };
  });
}

/** Returns the quality of the most specific match. */
export function qualityOf(name: string, accepted: Accepted): number {
  const [type] = name.split("/");
  for (const pattern of [name, `${type}/*`, "*/*", "*"]) {
    const found = accepted.find((each) => each.name === pattern);
    if (found !== undefined) return found.quality;
  }
  return 0;
}

/** Whether the client prefers HTML to JSON. */
export function prefersHtml(accept: string | undefined): boolean {
  const accepted = readAccept(accept);
  const isNamed = accepted.some(({ name }) => name === "text/html");
  return isNamed && qualityOf("text/html", accepted) > qualityOf("application/json", accepted);
}
