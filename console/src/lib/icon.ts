import { createElement, type ReactElement, type SVGProps } from "react";

/**
 * An icon of Lucide 1.75.0 (icons/LICENSE.txt), drawn as one path. They are copied, because the package takes 51 MB, and
 * each is a separate module, so that a page loads only its icons.
 */
export type Icon = (props: SVGProps<SVGSVGElement> & { readonly size: number }) => ReactElement;

const drawing = {
  viewBox: "0 0 24 24",
  fill: "none",
  stroke: "currentColor",
  strokeWidth: 2,
  strokeLinecap: "round",
  strokeLinejoin: "round",
} as const;

/** Assistive technology ignores an icon without a label. Not JSX, because tests in Node.js import it. */
export function icon(path: string): Icon {
  return ({ size, ...rest }) => {
    const isHidden = rest["aria-label"] === undefined;
    const properties = { ...drawing, width: size, height: size, "aria-hidden": isHidden, ...rest };
    return createElement("svg", properties, createElement("path", { d: path }));
  };
}
