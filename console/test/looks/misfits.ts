// Each function runs in the page, so it contains all functions that it needs.

/** Finds horizontal scrolling, and text that is cut off without an ellipsis. */
export function findMisfits(): string[] {
  const { scrollWidth, clientWidth } = document.documentElement;
  const cut = [...document.querySelectorAll<HTMLElement>("body *")].filter((element) => {
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim());
    if (!hasText || element.clientWidth <= 1 || element.scrollWidth <= element.clientWidth + 1) return false;
    const { overflowX, textOverflow } = getComputedStyle(element);
    return (overflowX === "hidden" || overflowX === "clip") && textOverflow !== "ellipsis";
  });
  return [
    ...(scrollWidth > clientWidth ? ["it is wider than the page"] : []),
    ...cut.map((element) => `the text is cut: ${element.outerHTML.slice(0, 200)}`),
  ];
}

/**
 * Finds overlapping text. Elements behind a background, such as that of a dialog, are hidden and no
 * misfit.
 */
export function findOverlaps(): string[] {
  const slack = 3; // lines of one paragraph may touch
  const texts = [...document.querySelectorAll<HTMLElement>("body *")].flatMap(boxesOfTexts);
  return texts.flatMap((text, index) =>
    texts
      .slice(index + 1)
      .filter((other) => other.element !== text.element && isDrawnOver(text, other))
      .map((other) => `“${text.content}” overlaps “${other.content}”`),
  );

  interface TextBox {
    readonly element: HTMLElement;
    readonly content: string;
    readonly box: DOMRect;
  }

  function boxesOfTexts(element: HTMLElement): TextBox[] {
    if (element.clientWidth === 1 || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
      return [];
    return [...element.childNodes]
      .filter((node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim())
      .flatMap((node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        const content = node.nodeValue?.trim().slice(0, 60) ?? "";
        return [...range.getClientRects()].map((box) => ({ element, content, box }));
      });
  }

  function isDrawnOver(one: TextBox, other: TextBox): boolean {
    const left = Math.max(one.box.left, other.box.left);
    const right = Math.min(one.box.right, other.box.right);
    const top = Math.max(one.box.top, other.box.top);
    const bottom = Math.min(one.box.bottom, other.box.bottom);
    if (right - left <= slack || bottom - top <= slack) return false;
    const drawn = document.elementsFromPoint((left + right) / 2, (top + bottom) / 2);
    const places = [drawn.indexOf(one.element), drawn.indexOf(other.element)];
    if (places.includes(-1)) return false; // scrolled or clipped away
    const between = drawn.slice(Math.min(...places), Math.max(...places));
    return !between.some((element) => getComputedStyle(element).backgroundColor !== "rgba(0, 0, 0, 0)");
  }
}

/** Elements that move although the operator has requested less motion from the system. */
export function findMotion(): string[] {
  const moving = document.getAnimations().map(({ effect }) => {
    const target = effect instanceof KeyframeEffect ? effect.target : null;
    return `it moves: ${target?.outerHTML.slice(0, 150)}`;
  });
  const willMove = [...document.querySelectorAll("body *")].filter((element) =>
    getComputedStyle(element)
      .transitionDuration.split(", ")
      .some((duration) => Number.parseFloat(duration) > 0),
  );
  return [...moving, ...willMove.map((element) => `it will move: ${element.outerHTML.slice(0, 150)}`)];
}
