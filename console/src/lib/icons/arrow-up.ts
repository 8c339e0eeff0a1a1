import { icon } from "../icon.ts";

export default icon("M5 12l7-7 7 7M12 19V5");
