import { icon } from "../icon.ts";

export default icon("M15 18l-6-6 6-6");
