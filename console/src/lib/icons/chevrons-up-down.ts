import { icon } from "../icon.ts";

export default icon("M7 15l5 5 5-5M7 9l5-5 5 5");
