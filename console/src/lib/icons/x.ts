import { icon } from "../icon.ts";

export default icon("M18 6 6 18M6 6l12 12");
