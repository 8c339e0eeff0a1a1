/** The element of index.html with this id. */
export function element(id: string): HTMLElement;
export function element<T extends HTMLElement>(id: string, kind: new () => T): T;
export function element(id: string, kind: new () => HTMLElement = HTMLElement): HTMLElement {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new TypeError(`index.html has no ${kind.name} #${id}`);
  return found;
}

/** The element in a part of the page that a selector finds. */
export function find<T extends Element>(part: ParentNode, selector: string, kind: new () => T): T {
  const found = part.querySelector(selector);
  if (!(found instanceof kind)) throw new TypeError(`there is no ${kind.name} ${selector}`);
  return found;
}

/** Shows a line to the reader, and to their screen reader. */
export function say(text: string, tone: "good" | "bad" = "good"): void {
  const line = element("message");
  line.textContent = text;
  line.classList.toggle("bad", tone === "bad");
}

/** Runs the action of a form, with its buttons disabled meanwhile. */
export async function submit(form: HTMLFormElement, action: () => Promise<void>): Promise<void> {
  const buttons = form.querySelectorAll("button");
  for (const button of buttons) button.disabled = true;
  try {
    await action();
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}
