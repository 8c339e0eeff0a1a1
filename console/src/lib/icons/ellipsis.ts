import { icon } from "../icon.ts";

export default icon(
  "M11 12a1 1 0 1 0 2 0a1 1 0 1 0 -2 0ZM18 12a1 1 0 1 0 2 0a1 1 0 1 0 -2 0ZM4 12a1 1 0 1 0 2 0a1 1 0 1 0 -2 0Z",
);
