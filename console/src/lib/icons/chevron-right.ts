import { icon } from "../icon.ts";

export default icon("M9 18l6-6-6-6");
