/** The pages of objects by the kind of their ids; `$id` stands for the id. */
const pages: Readonly<Record<string, string>> = {
  apk: "/apps/$appid/keys?panel=$id",
  app: "/apps/$id/overview",
  opr: "/operators?panel=$id",
  dev: "/apps/$appid/devices/$id",
  whk: "/apps/$appid/webhooks/$id",
  usr: "/apps/$appid/users/$id",
};

/** The address of the page of an id, if its kind has a page that can be reached from here. */
export function addressOfId(id: string, appid: string | undefined): string | undefined {
  const page = pages[/^([a-z]{3})_\w+$/.exec(id)?.[1] ?? ""];
  if (page === undefined || (page.includes("$appid") && appid === undefined)) return undefined;
  return page.replace("$appid", appid ?? "").replace("$id", id);
}
